"""A tensor computed in the graph and passed where torch takes a number, as a size or a place."""

from __future__ import annotations

from collections.abc import Iterator

from fullgraph.rules.model import Rule

from ..emission import Hit
from ..facts import Call, Fact
from ..findings import Confidence
from ..interpret.frame import Frame
from ..values import Sequence, Tensor, Tuple_, Value, element_of, known
from ..vocabulary import words

FACTS = (Call,)
MAKERS = words("arange empty eye ones rand randint randn randperm zeros")
METHODS = words(
    """
    chunk expand narrow new_empty new_ones new_zeros repeat reshape roll split topk tril triu unflatten unfold view
    """
)
OF_TENSORS = words("broadcast_to chunk narrow reshape roll split topk tril triu unflatten")
FUNCTIONAL = words("adaptive_avg_pool1d adaptive_avg_pool2d interpolate one_hot pad")
FIRST_NUMBER = {
    **{f"torch.{name}": 0 for name in MAKERS},
    **{f"torch.Tensor.{name}": 0 for name in METHODS},
    **{f"torch.{name}": 1 for name in OF_TENSORS},
    **{f"torch.nn.functional.{name}": 1 for name in FUNCTIONAL},
}
"""From which positional argument on only numbers are taken."""
NUMBERS = words("dim end high k length low n num_classes output_size pad shifts size split_size start step")
"""Keywords that take numbers only."""
CALLS = tuple(FIRST_NUMBER)


def check(fact: Fact, frame: Frame, rule: Rule) -> Iterator[Hit]:
    if not isinstance(fact, Call) or fact.symbol not in FIRST_NUMBER:
        return
    arguments = fact.arguments
    numbers = [*arguments.positional[FIRST_NUMBER[fact.symbol] :]]
    numbers += [value for name, value in arguments.keywords if name in NUMBERS]
    tensors = [tensor for value in numbers if (tensor := _tensor(known(value))) is not None]
    computed = [tensor for tensor in tensors if tensor.made_here and not tensor.literal]
    if computed:
        sure = all(tensor.sure for tensor in computed)
        yield Hit(rule.code, fact.span, Confidence.CERTAIN if sure else Confidence.LIKELY)


def _tensor(value: Value) -> Tensor | None:
    match value:
        case Tensor():
            return value
        case Tuple_(items=items):
            return next((item for item in map(known, items) if isinstance(item, Tensor)), None)
        case Sequence():
            return _tensor(known(element_of(value)))
    return None
