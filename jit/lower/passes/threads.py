"""Divides the steps of outlined loops among torch's own threads, where there are enough and it is not one of them that
asks.

The threads are those of the libgomp that torch has loaded, so `torch.set_num_threads` counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from .outlined_loops import KERNEL, LEAST, UNSHARED
from .walk import nested

# A thread's share is a contiguous range, as in ATen: `{function, captured, steps}` says of what.
RUNTIME = f"""
llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
llvm.func @omp_get_thread_num() -> i32
llvm.func @omp_get_num_threads() -> i32
llvm.func @omp_get_max_threads() -> i32
llvm.func @omp_in_parallel() -> i32
llvm.func @share(%task: !llvm.ptr) {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %count = llvm.call @omp_get_num_threads() : () -> i32
  %number = llvm.call @omp_get_thread_num() : () -> i32
  %threads = llvm.sext %count : i32 to i64
  %thread = llvm.sext %number : i32 to i64
  %captured_at = llvm.getelementptr %task[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %steps_at = llvm.getelementptr %task[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %function = llvm.load %task : !llvm.ptr -> !llvm.ptr
  %captured = llvm.load %captured_at : !llvm.ptr -> !llvm.ptr
  %steps = llvm.load %steps_at : !llvm.ptr -> i64
  %more = llvm.add %steps, %threads : i64
  %rounded = llvm.sub %more, %one : i64
  %each = llvm.udiv %rounded, %threads : i64
  %first = llvm.mul %thread, %each : i64
  %end = llvm.add %first, %each : i64
  %last = llvm.intr.umin(%end, %steps) : (i64, i64) -> i64
  %any = llvm.icmp "ult" %first, %last : i64
  llvm.cond_br %any, ^work, ^done
^work:
  llvm.call %function(%captured, %first, %last) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.br ^done
^done:
  llvm.return
}}
llvm.func @divide(%function: !llvm.ptr, %captured: !llvm.ptr, %steps: i64) {{
  %zero = llvm.mlir.constant(0 : i64) : i64
  %none = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %words = llvm.mlir.constant(3 : i64) : i64
  %least = llvm.mlir.constant({LEAST} : i64) : i64
  %task = llvm.alloca %words x i64 : (i64) -> !llvm.ptr
  %few = llvm.icmp "ult" %steps, %least : i64
  llvm.cond_br %few, ^alone, ^ask
^ask:
  %threads = llvm.call @omp_get_max_threads() : () -> i32
  %inside = llvm.call @omp_in_parallel() : () -> i32
  %single = llvm.icmp "sle" %threads, %one : i32
  %nested = llvm.icmp "ne" %inside, %none : i32
  %unwanted = llvm.or %single, %nested : i1
  llvm.cond_br %unwanted, ^alone, ^together
^alone:
  llvm.call %function(%captured, %zero, %steps) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  llvm.return
^together:
  %captured_at = llvm.getelementptr %task[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %steps_at = llvm.getelementptr %task[2] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %function, %task : !llvm.ptr, !llvm.ptr
  llvm.store %captured, %captured_at : !llvm.ptr, !llvm.ptr
  llvm.store %steps, %steps_at : i64, !llvm.ptr
  %share = llvm.mlir.addressof @share : !llvm.ptr
  llvm.call @GOMP_parallel(%share, %task, %none, %none) : (!llvm.ptr, !llvm.ptr, i32, i32) -> ()
  llvm.return
}}
"""


def threads(module: ir.Module) -> None:
    """After the conversion to LLVM's dialect."""
    kernels = {name: op for op in module.body.operations if (name := _name(op)).startswith(KERNEL)}
    if not kernels:
        return
    source = ir.Module.parse(
        "\n".join([RUNTIME, *(line for name in kernels for line in _dispatch(name, kernels[name]))])
    )
    for view in list(source.body.operations):
        if _name(view) not in kernels:
            module.body.append(view.operation.detach_from_parent())
    for operation in nested(module.operation):
        callee = str(operation.attributes.get("callee", ""))[1:]
        if callee in kernels and not _is_in_task(operation):
            operation.attributes["callee"] = ir.FlatSymbolRefAttr.get(f"all_of_{callee}")
    for kernel in kernels.values():
        kernel.attributes["no_inline"] = ir.UnitAttr.get()
        _mark_unshared(kernel)


def _name(view: ir.OpView) -> str:
    return ir.StringAttr(view.attributes["sym_name"]).value if "sym_name" in view.attributes else ""


def _is_in_task(operation: ir.Operation) -> bool:
    return _name(operation.parent.opview).startswith("task_")


def _dispatch(name: str, kernel: ir.OpView) -> Iterator[str]:
    """`all_of_x` takes the arguments of `x`; `task_x` is one that takes them from memory."""
    kinds = [str(argument.type) for argument in kernel.regions[0].blocks[0].arguments]
    captured = kinds[2:]
    packed = f"!llvm.struct<({', '.join(captured)})>"
    values = "".join(f", %value{i}" for i in range(len(captured)))
    yield f"llvm.func @{name}({', '.join(kinds)})"
    yield f"llvm.func @task_{name}(%captured: !llvm.ptr, %first: i64, %last: i64) {{"
    for i, kind in enumerate(captured):
        yield f"%at{i} = llvm.getelementptr %captured[0, {i}] : (!llvm.ptr) -> !llvm.ptr, {packed}"
        yield f"%value{i} = llvm.load %at{i} : !llvm.ptr -> {kind}"
    yield f"llvm.call @{name}(%first, %last{values}) : ({', '.join(kinds)}) -> ()"
    yield "llvm.return\n}"
    parameters = "".join(f", %value{i}: {kind}" for i, kind in enumerate(captured))
    yield f"llvm.func @all_of_{name}(%first: i64, %last: i64{parameters}) {{"
    yield "%one = llvm.mlir.constant(1 : i64) : i64"
    yield f"%captured = llvm.alloca %one x {packed} : (i64) -> !llvm.ptr"
    for i, kind in enumerate(captured):
        yield f"%at{i} = llvm.getelementptr %captured[0, {i}] : (!llvm.ptr) -> !llvm.ptr, {packed}"
        yield f"llvm.store %value{i}, %at{i} : {kind}, !llvm.ptr"
    yield f"%task = llvm.mlir.addressof @task_{name} : !llvm.ptr"
    yield "llvm.call @divide(%task, %captured, %last) : (!llvm.ptr, !llvm.ptr, i64) -> ()"
    yield "llvm.return\n}"


def _mark_unshared(kernel: ir.OpView) -> None:
    attributes = [ir.DictAttr.get({}) for _ in kernel.regions[0].blocks[0].arguments]
    for position in ir.DenseI64ArrayAttr(kernel.attributes[UNSHARED]):
        attributes[position] = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
