"""Names of torch's and Python's functions that the interpreter treats alike, by what it makes of them."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANSWERS = {
    "importlib.util.find_spec": ("importlib.invalidate_caches",),
    "sys.getrecursionlimit": ("sys.setrecursionlimit",),
    "tempfile.gettempdir": ("tempfile.tempdir",),
    "torch.distributed.is_initialized": (
        "torch.distributed.destroy_process_group",
        "torch.distributed.init_process_group",
    ),
}
"""Questions about the process that Dynamo asks once, and the calls and attributes that change the answer."""
ELEMENTWISE = words(
    """
    add atan2 bitwise_and bitwise_or bitwise_xor copysign div eq floor_divide fmax fmin fmod ge gt hypot le logaddexp
    logical_and logical_or logical_xor lt maximum minimum mul ne nextafter pow remainder sub true_divide xlogy
    """
)
"""Operators of two tensors that broadcast: of the same sizes they keep them."""
HANDLE = "torch.utils.hooks.RemovableHandle"
"""What registering a hook gives back."""
HOOKS = words(
    """
    register_backward_hook register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_full_backward_pre_hook register_module_forward_hook register_module_forward_pre_hook
    register_module_full_backward_hook register_module_full_backward_pre_hook
    """
)
SUPPRESSING = ("noqa", "fullgraph:")
"""Without one of them, in whatever case, a file has no suppression comment."""
MUTATORS = words("add append appendleft clear extend insert pop popleft remove setdefault update")
"""Methods that change a list, set, dict or deque."""
OPAQUE = words(
    """
    torch._dynamo.decorators.leaf_function torch._dynamo.nonstrict_trace torch.compiler.allow_in_graph
    torch.compiler.leaf_function torch.compiler.nonstrict_trace torch.fx.wrap torch.jit.script
    torch.library.custom_op torch.library.triton_op triton.jit
    """
)
"""Decorators that put a function into the graph whole."""
TRANSFORMS = words(
    """
    torch.func.grad torch.func.grad_and_value torch.func.hessian torch.func.jacfwd torch.func.jacrev torch.func.vmap
    torch.vmap
    """
)
"""Functions that give a function calling the one they are given."""
CALLERS = words(
    """
    torch._dynamo.nonstrict_trace torch.utils.checkpoint.checkpoint torch.utils.checkpoint.checkpoint_sequential
    """
)
"""Functions that call their first argument with the others."""
CONTEXTS = words(
    """
    torch.amp.autocast torch.autocast torch.cuda.amp.autocast torch.enable_grad torch.inference_mode
    torch.nn.attention.sdpa_kernel torch.no_grad torch.set_grad_enabled
    """
)
"""Functions of torch that return a context manager."""
RESUMABLE_CONTEXTS = words(
    """
    contextlib.nullcontext torch.amp.autocast torch.amp.autocast_mode.autocast torch.autocast
    torch.autograd.grad_mode.enable_grad torch.autograd.grad_mode.inference_mode torch.autograd.grad_mode.no_grad
    torch.autograd.grad_mode.set_grad_enabled torch.autograd.no_grad torch.autograd.profiler.record_function
    torch.autograd.set_grad_enabled torch.cpu.amp.autocast torch.cuda.amp.autocast torch.enable_grad
    torch.inference_mode torch.nn.attention.sdpa_kernel torch.no_grad torch.profiler.profile
    torch.profiler.record_function torch.set_grad_enabled
    """
)
"""Context managers that Dynamo re-enters after a graph break inside them; any other one loses the frame."""
BOOLEAN = words(
    """
    all any eq ge greater greater_equal gt isclose isfinite isin isinf isnan isneginf isposinf isreal le less
    less_equal logical_and logical_not logical_or logical_xor lt ne not_equal signbit
    """
)
"""Functions and methods whose result is a boolean tensor."""
INTEGER = words(
    """
    arange argmax argmin argsort argwhere bincount bucketize count_nonzero nonzero randint randperm searchsorted
    """
)
"""Functions and methods whose result holds integers."""
FLOATING = words(
    """
    empty exp eye linspace log mean ones rand randn sigmoid softmax zeros
    """
)
"""Functions and methods whose result is floating-point unless asked otherwise."""
SAME_DTYPE = words(
    """
    T abs amax amin cat chunk clamp clone contiguous cpu cuda cumsum detach diagonal empty_like expand expand_as
    fill_ flatten flip gather index_select indices masked_fill masked_fill_ masked_select max min movedim narrow neg
    new_zeros ones_like permute prod repeat repeat_interleave reshape roll select sort split squeeze stack sum
    swapaxes t take_along_dim tile to topk transpose tril tril_ triu triu_ unbind unflatten unsqueeze values view
    view_as where zero_ zeros_like
    """
)
"""Methods whose result has its input's dtype."""
SAME_SIZES = words(
    """
    abs bfloat16 bool celu clone contiguous cos cpu cuda detach double dropout elu empty_like erf exp float full_like
    gelu half hardsigmoid hardswish hardtanh int isfinite isinf isnan layer_norm leaky_relu log log_softmax logsigmoid
    long mish neg normalize ones_like rand_like randn_like reciprocal relu relu6 rms_norm round rsqrt selu
    sigmoid sign silu sin softmax softplus softsign sqrt square tan tanh to tril triu zeros_like
    """
)
"""Methods whose result has its input's sizes."""
REDUCTIONS = words(
    """
    all any max mean min norm prod std sum argmax argmin
    """
)
"""Methods that give a single number when no dimension is named."""

DTYPES = {
    "bool": "bool",
    "long": "int",
    "int": "int",
    "int64": "int",
    "int32": "int",
    "int16": "int",
    "int8": "int",
    "uint8": "int",
    "short": "int",
    "float": "float",
    "float32": "float",
    "float16": "float",
    "half": "float",
    "bfloat16": "float",
    "double": "float",
    "float64": "float",
    "complex64": "complex",
}
"""Names of dtypes, and of the methods that convert to them → the kind of number."""
MODULE_METHODS = words(
    """
    __call__ _call_impl add_module apply bfloat16 buffers children compile cpu cuda double eval float get_parameter
    get_submodule half load_state_dict modules named_buffers named_children named_modules named_parameters
    parameters register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_module register_parameter requires_grad_ state_dict to train type zero_grad
    """
)
"""Methods of `nn.Module` that no first-party code defines."""
MODULE_NUMBERS = words(
    """
    embedding_dim in_features kernel_size num_embeddings out_features p padding stride
    """
)
"""Attributes of torch's modules that are Python numbers."""
MODULE_CONVERSIONS = words(
    """
    bfloat16 cpu cuda double eval float half requires_grad_ to train
    """
)
"""Methods of `nn.Module` that give the module itself."""
