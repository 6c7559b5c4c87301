"""Generate `rules/torch_api.json` from the stubs of the installed torch, which is read and never imported.

In: torch's type stubs, its Python sources and `native_functions.yaml`. Out: what every public function, tensor method
and tensor attribute returns, how many positional arguments it takes, and which operators have data-dependent results.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

OUTPUT = Path(__file__).parent.parent / "rules" / "torch_api.json"
NATIVE_MODULES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}
TAGS = ("data_dependent_output", "dynamic_output_shape")
SCALARS = {"int", "float", "bool", "number"}

ANNOTATIONS = {
    "tensor": "Tensor Self Parameter TensorBase",
    "int": "int SymInt Int",
    "float": "float",
    "bool": "bool TypeIs[Tensor] Bool",
    "number": "Number complex number Scalar",
    "size": "Size size",
    "dtype": "dtype device layout memory_format qscheme DeviceLikeType",
    "str": "str",
    "none": "None NoReturn Never",
}
KIND_OF = {name: kind for kind, names in ANNOTATIONS.items() for name in names.split()}

# Where the stubs say less, or something else, than what really comes back.
OVERRIDES: dict[str, dict[str, str]] = {
    "torch": {
        "tensor": """
            block_diag cartesian_prod chain_matmul einsum frombuffer from_numpy norm tensordot atleast_1d
            atleast_2d atleast_3d cdist stft unravel_index unique unique_consecutive nonzero asarray
            as_tensor tensor scalar_tensor from_dlpack
        """,
        "tensors": "broadcast_tensors meshgrid split tensor_split lu lobpcg pca_lowrank svd_lowrank",
        "size": "broadcast_shapes",
        "bool": "is_tensor is_storage is_grad_enabled is_inference_mode_enabled sym_not compiled_with_cxx11_abi",
        "number": "sym_sqrt sym_max sym_min sym_sum sym_ite",
        "int": "sym_int initial_seed seed",
        "float": "sym_float",
        "none": "save set_default_device set_default_dtype",
    },
    "torch.Tensor": {
        "tensor": """
            __and__ __eq__ __ge__ __gt__ __iand__ __iadd__ __invert__ __ior__ __ixor__ __le__ __lt__ __ne__
            __or__ __xor__ __rsub__ __rdiv__ __rtruediv__ __itruediv__ __pow__ __ipow__ __rpow__
            __floordiv__ __rfloordiv__ __rmod__ __rmatmul__ __rlshift__ __rrshift__ __pos__ __neg__ __abs__
            __array_wrap__ apply_ map_ map2_ norm stft istft unique unique_consecutive unflatten reinforce
            detach detach_ cpu requires_grad_ type_as new_tensor as_subclass where nonzero resize resize_as
            share_memory_ to_sparse_coo cdouble cfloat __deepcopy__ __reversed__
        """,
        "tensors": "split lu __iter__ unbind chunk hsplit vsplit dsplit tensor_split split_with_sizes",
        "int": """
            __len__ __hash__ __index__ __int__ dim data_ptr element_size ndimension nelement numel
            get_device dense_dim sparse_dim
        """,
        "float": "__float__",
        "bool": "__bool__ __contains__ is_shared",
        "str": "__repr__ __format__",
        "none": "backward retain_grad",
        "size": "size stride",
        "unknown": "storage numpy tolist register_hook __reduce_ex__ __dlpack__ dim_order module_load",
    },
    "torch.nn.functional": {
        "tensor": """
            max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
            fractional_max_pool2d fractional_max_pool3d threshold interpolate upsample
        """,
        "tensors": "multi_head_attention_forward",
    },
}

# The kind when one of these arguments is given, where it differs from the kind without them.
GIVEN: dict[str, dict[str, str]] = {
    "torch": {
        "unique": "return_inverse=tensors return_counts=tensors",
        "unique_consecutive": "return_inverse=tensors return_counts=tensors",
        "nonzero": "as_tuple=tensors",
        "where": "input=tensor self=tensor",
    },
    "torch.Tensor": {
        "unique": "return_inverse=tensors return_counts=tensors",
        "unique_consecutive": "return_inverse=tensors return_counts=tensors",
        "nonzero": "as_tuple=tensors",
        "size": "dim=int",
    },
    "torch.nn.functional": {
        f"{prefix}max_pool{n}d": "return_indices=tensors"
        for prefix in ("", "adaptive_", "fractional_")
        for n in (1, 2, 3)
        if not (prefix == "fractional_" and n == 1)
    },
}

# Parsers that take more than their stub says, such as the old `x.addmm(beta, mat1, mat2)`: a name left out only costs
# a finding.
NO_ARITY: dict[str, str] = {
    "torch": """
        compile save load where unique unique_consecutive tensordot meshgrid norm split lu arange range
        linspace logspace is_vulkan_available dsmm spmm sparse_coo_tensor
    """,
    "torch.Tensor": """
        to type cuda cpu xpu new new_tensor where unique unique_consecutive set_ resize norm split lu add
        add_ sub sub_ addbmm addbmm_ baddbmm baddbmm_ addmv addmv_ addmm addmm_ sspaddmm addcdiv addcdiv_
        addcmul addcmul_ addr addr_
    """,
    "torch.nn.functional": "elu_",
}

# Methods whose stubs leave `memory_format` out.
CONVERSIONS = "bfloat16 bool byte char double float half int long short"

# What `torch/__init__.py` takes over from the C extension and from the Python files read below.
EXTENSION_NAMES = """
    get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads set_flush_denormal
    get_default_dtype is_grad_enabled is_inference_mode_enabled set_autocast_enabled is_autocast_enabled
    set_autocast_dtype get_autocast_dtype clear_autocast_cache is_autocast_cpu_enabled
    is_autocast_cache_enabled get_autocast_cpu_dtype get_autocast_gpu_dtype is_anomaly_enabled
"""
PYTHON_NAMES = """
    broadcast_tensors broadcast_shapes split einsum meshgrid stft tensordot cartesian_prod block_diag cdist
    atleast_1d atleast_2d atleast_3d norm unravel_index chain_matmul lu set_rng_state get_rng_state
    manual_seed seed initial_seed save load sym_not sym_float sym_int sym_max sym_min sym_sum sym_ite
    typename is_tensor is_storage get_default_device set_default_device set_default_tensor_type
    set_default_dtype use_deterministic_algorithms are_deterministic_algorithms_enabled
    is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode get_deterministic_debug_mode
    get_float32_matmul_precision set_float32_matmul_precision set_warn_always is_warn_always_enabled compile
    compiled_with_cxx11_abi get_device_module
"""
ONLY_IN_STUBS = {"unique_dim"}
FACTORIES = """
    arange as_tensor asarray bartlett_window blackman_window complex empty empty_strided eye from_numpy
    frombuffer full hamming_window hann_window kaiser_window linspace logspace ones rand randint randn
    randperm range scalar_tensor tensor tril_indices triu_indices zeros
"""
DRAWS = {
    "torch": "bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm",
    "torch.Tensor": """
        bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_
        uniform_
    """,
}
MODULES_RETURNING = {
    "tensors": "AdaptiveLogSoftmaxWithLoss GRU LSTM LSTMCell MultiheadAttention RNN",
    "unknown": """
        Container Identity LinearCrossEntropyOptions Module ModuleDict ModuleList ParameterDict
        ParameterList RNNBase RNNCellBase Sequential
    """,
}


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload: what it returns and its positional parameters without `self`."""

    kind: str
    names: tuple[str, ...] = ()
    required: int = 0
    unbounded: bool = False
    keywords: frozenset[str] | None = frozenset()
    """What may be passed by keyword alone; None where anything may."""


Signatures = dict[str, list[Signature]]


def kind_of(annotation: ast.expr | None) -> str:
    """The kind that a return annotation stands for."""
    match annotation:
        case ast.Constant(value=None):
            return "none"
        case ast.Constant(value=str(text)):
            return kind_of(ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return common_kind({kind_of(left), kind_of(right)} - {"none"})
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return kind_of_text(ast.unparse(annotation))
        case _:
            return "unknown"


def kind_of_text(text: str) -> str:
    text = re.sub(r"\b(torch|builtins|types)\.", "", text).lstrip("_")
    if text.startswith("return_types.") or re.match(r"(?i)(tuple|list|sequence)\[.*Tensor", text):
        return "tensors"
    return KIND_OF.get(text.lstrip("_"), "unknown")


def common_kind(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "number" if kinds and kinds <= SCALARS else "unknown"


def is_int_list(annotation: ast.expr | None) -> bool:
    """Whether torch's argument parser also takes this parameter spread out, as in `x.permute(0, 1)`."""
    text = ast.unparse(annotation) if annotation else ""
    return "_size" in text or bool(re.search(r"(Sequence|tuple)\[.*(int|SymInt)", text))


def signature(function: ast.FunctionDef, *, method: bool) -> Signature:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args][int(method) :]
    required = max(0, len(positional) - len(arguments.defaults))
    spread = len(positional) == 1 and is_int_list(positional[0].annotation)
    names = tuple(argument.arg for argument in positional)
    keywords = None if arguments.kwarg else frozenset(argument.arg for argument in arguments.kwonlyargs)
    return Signature(kind_of(function.returns), names, required, arguments.vararg is not None or spread, keywords)


def functions(body: Iterable[ast.stmt], *, method: bool = False) -> Signatures:
    found: Signatures = defaultdict(list)
    for node in flattened(body):
        if isinstance(node, ast.FunctionDef) and "property" not in decorators(node):
            found[node.name].append(signature(node, method=method))
    return found


def flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when type checking is off."""
    for node in body:
        if isinstance(node, ast.If):
            yield from flattened(node.orelse)
        else:
            yield node


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator).split(".")[-1] for decorator in function.decorator_list}


def attributes(body: Iterable[ast.stmt]) -> dict[str, str]:
    found = {}
    for node in body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                found[name] = kind_of(annotation)
            case ast.FunctionDef(name=name, returns=returns) if "property" in decorators(node):
                found[name] = kind_of(returns)
    return found


def is_public(name: str) -> bool:
    return not name.startswith("_") or name.endswith("__")


class Torch:
    """The files of the installed torch that the table is made of."""

    def __init__(self) -> None:
        distribution = importlib.metadata.distribution("torch")
        self.version = distribution.version.split("+")[0]
        self.root = Path(str(distribution.locate_file("torch")))

    def parse(self, path: str) -> list[ast.stmt]:
        return ast.parse((self.root / path).read_bytes()).body

    def class_body(self, path: str, name: str) -> list[ast.stmt]:
        return next(node.body for node in self.parse(path) if isinstance(node, ast.ClassDef) and node.name == name)

    def native(self) -> list[dict[str, Any]]:
        path = self.root.parent / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
        entries: list[dict[str, Any]] = yaml.load(
            path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
        return entries


def torch_functions(torch: Torch) -> Signatures:
    """`torch.*`: the generated functions, replaced by the Python ones of the same name."""
    extension = {
        name: s for name, s in functions(torch.parse("_C/__init__.pyi")).items() if name in EXTENSION_NAMES.split()
    }
    generated = functions(torch.parse("_C/_VariableFunctions.pyi"))
    python = [
        functions(torch.parse(path)) for path in ("functional.py", "random.py", "serialization.py", "__init__.py")
    ]
    exported = [{n: s for n, s in found.items() if n in PYTHON_NAMES.split()} for found in python]
    aliases = {n: python[0][f"_{n}_impl"] for n in ("unique", "unique_consecutive")}
    return merged(extension, generated, *exported, aliases)


def functional_functions(torch: Torch, core: Signatures) -> Signatures:
    """`torch.nn.functional.*`: its stub, its Python definitions and what it takes over from C."""
    native = functions(torch.parse("_C/_nn.pyi"))
    reexported: Signatures = {}
    stub = torch.parse("nn/functional.pyi")
    for node in stub:
        if isinstance(node, ast.ImportFrom) and node.module in ("torch", "torch._C._nn"):
            source = core if node.module == "torch" else native
            reexported |= {
                alias.asname: source[alias.name] for alias in node.names if alias.asname and alias.name in source
            }
    stubbed = functions(stub)
    python = functions(torch.parse("nn/functional.py"))
    kinds = {name: common_kind({s.kind for s in signatures}) for name, signatures in stubbed.items()}
    typed = {
        name: [replace(s, kind=s.kind if s.kind != "unknown" else kinds.get(name, s.kind)) for s in found]
        for name, found in python.items()
    }
    return merged(reexported, stubbed, typed)


def tensor_methods(torch: Torch) -> Signatures:
    base = functions(torch.class_body("_C/__init__.pyi", "TensorBase"), method=True)
    found = merged(base, functions(torch.class_body("_tensor.py", "Tensor"), method=True))
    for name in CONVERSIONS.split():
        found[name] = [replace(signature, keywords=frozenset({"memory_format"})) for signature in found[name]]
    return found


def native_functions(entries: list[dict[str, Any]], module: str) -> Signatures:
    """The functions of `torch.linalg`, `torch.fft` or `torch.special`, which have no stubs."""
    found: Signatures = defaultdict(list)
    for entry in entries:
        if entry.get("python_module") == module:
            schema = re.fullmatch(r"([\w.]+)\((.*)\) -> (.*)", entry["func"])
            assert schema, entry["func"]
            name, overload = (schema[1] + ".").split(".")[:2]
            if not overload.endswith("out"):
                found[name.removeprefix(NATIVE_MODULES[module])].append(native_signature(schema[2], schema[3]))
    return found


def native_signature(arguments: str, returns: str) -> Signature:
    positional = [
        a for a in re.sub(r"\([^()]*\)", "", arguments).split(", *")[0].split(", ") if a and not a.startswith("*")
    ]
    required = sum("=" not in argument for argument in positional)
    names = tuple(argument.split("=")[0].split()[-1] for argument in positional)
    spread = len(positional) == 1 and bool(re.match(r"(Sym)?Int\[|int\[", positional[0]))
    kind = (
        "tensors" if returns.count("Tensor") > 1 or "[]" in returns else kind_of_text(re.sub(r"\(.*?\)", "", returns))
    )
    keywords = frozenset(a.split("=")[0].split()[-1] for a in arguments.partition("*, ")[2].split(", ") if a)
    return Signature(kind, names, required, spread, keywords | {"out"})


def merged(*layers: Mapping[str, list[Signature]]) -> Signatures:
    """A later layer replaces a name of an earlier one."""
    result: Signatures = {}
    for layer in layers:
        result |= layer
    return {name: signatures for name, signatures in result.items() if is_public(name)}


def return_kinds(signatures: Signatures, overrides: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What each name returns when called plainly, and `argument=kind` where an argument changes that."""
    kinds: dict[str, str] = {}
    given: dict[str, str] = {}
    for name, overloads in signatures.items():
        plain = min(overloads, key=lambda s: (s.required, s.kind == "unknown"))
        kinds[name] = plain.kind
        others = [s for s in overloads if s.kind != plain.kind]
        changes = {
            f"{extra}={s.kind}"
            for s in others
            for extra in s.names[: s.required]
            if extra not in plain.names[: plain.required]
        }
        if others and not changes:
            kinds[name] = common_kind({s.kind for s in overloads})
        elif changes:
            given[name] = " ".join(sorted(changes))
    return kinds | {name: kind for kind, names in overrides.items() for name in names.split()}, given


def arities(signatures: Signatures, left_out: str) -> dict[str, str]:
    """`min max names... | keywords...` over all overloads; `*` when there is no maximum, or when any keyword goes."""
    result = {}
    for name, overloads in signatures.items():
        if name in left_out.split() or name.startswith("__"):
            continue
        longest = max(overloads, key=lambda s: len(s.names))
        upper = "*" if any(s.unbounded for s in overloads) else str(len(longest.names))
        others = {keyword for s in overloads for keyword in (*s.names, *(s.keywords or ()))} - {*longest.names}
        keywords = ["*"] if any(s.keywords is None for s in overloads) else sorted(others)
        result[name] = " ".join([str(min(s.required for s in overloads)), upper, *longest.names, "|", *keywords])
    return result


def tag_names(entries: list[dict[str, Any]], tag: str, known: Mapping[str, Iterable[str]]) -> str:
    """The public names of the operators that carry a tag."""
    operators = {re.split(r"[.(]", entry["func"])[0] for entry in entries if tag in as_list(entry.get("tags"))}
    public = {f"{namespace}.{name}" for namespace, names in known.items() for name in names if name in operators}
    return " ".join(sorted(public))


def as_list(tags: str | list[str] | None) -> list[str]:
    return [tags] if isinstance(tags, str) else tags or []


def grouped(values: Mapping[str, str]) -> dict[str, str]:
    """`{name: value}` turned round to `{value: "name name ..."}`."""
    result: dict[str, list[str]] = defaultdict(list)
    for name, value in sorted(values.items()):
        result[value].append(name)
    return {value: " ".join(names) for value, names in sorted(result.items())}


def module_kinds(torch: Torch) -> dict[str, str]:
    exported = next(
        [constant.value for constant in ast.walk(node.value) if isinstance(constant, ast.Constant)]
        for node in torch.parse("nn/modules/__init__.py")
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    special = {name: kind for kind, names in MODULES_RETURNING.items() for name in names.split()}
    return grouped({str(name): special.get(str(name), "tensor") for name in exported})


def build() -> dict[str, Any]:
    torch = Torch()
    entries = torch.native()
    core = torch_functions(torch)
    namespaces = {
        "torch": {
            name: found for name, found in core.items() if not name.startswith("__") and name not in ONLY_IN_STUBS
        },
        "torch.Tensor": tensor_methods(torch),
        "torch.nn.functional": functional_functions(torch, core),
        **{f"torch.{module}": merged(native_functions(entries, module)) for module in NATIVE_MODULES},
    }
    returns = {name: return_kinds(found, OVERRIDES.get(name, {})) for name, found in namespaces.items()}
    kinds: dict[str, Any] = {name: grouped(found) for name, (found, _) in returns.items()}
    tensor_attributes = attributes(torch.class_body("_C/__init__.pyi", "TensorBase")) | attributes(
        torch.class_body("_tensor.py", "Tensor")
    )
    kinds["torch.Tensor"] = {
        "attributes": grouped({n: k for n, k in tensor_attributes.items() if is_public(n) and not n.startswith("__")}),
        "methods": kinds["torch.Tensor"],
    }
    given = {f"{space}.{name}": change for space, (_, changes) in returns.items() for name, change in changes.items()}
    given |= {f"{space}.{name}": change for space, changes in GIVEN.items() for name, change in changes.items()}
    return {
        "torch": torch.version,
        "kinds": kinds,
        "given": dict(sorted(given.items())),
        "tags": {tag: tag_names(entries, tag, namespaces) for tag in TAGS},
        "parameters": {space: grouped(arities(found, NO_ARITY.get(space, ""))) for space, found in namespaces.items()},
        "factories": " ".join(FACTORIES.split()),
        "draws": {space: " ".join(names.split()) for space, names in DRAWS.items()},
        "modules": module_kinds(torch),
    }


def render(table: dict[str, Any]) -> str:
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the file is not up to date")
    arguments = parser.parse_args()
    text = render(build())
    if arguments.check:
        return int(OUTPUT.read_text(encoding="utf-8") != text)
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
