"""Small models of the kinds that people compile: what they compute and one step of training are eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from fullgraph.jit.events import Lowered, Phase  # noqa: E402
from fullgraph.jit.mlir import Backend  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]
WIDTH, HEADS, WORDS = 32, 4, 50


class Attention(nn.Module):
    """Causal, with fewer heads for keys and values, and positions by rotation."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.pair = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, HEADS, -1).transpose(1, 2)
        key, value = self.pair(x).view(batch, length, 2, HEADS // 2, -1).permute(2, 0, 3, 1, 4)
        angle = torch.outer(torch.arange(length), 100.0 ** -torch.linspace(0, 1, query.shape[-1] // 2)).repeat(1, 2)
        query, key = (rotated(part, angle) for part in (query, key))
        key, value = (part.repeat_interleave(2, dim=1) for part in (key, value))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


def rotated(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat((-second, first), dim=-1) * angle.sin()


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = self.wide(x).chunk(2, dim=-1)
        return self.narrow(F.silu(gate) * value)


class Residual(nn.Module):
    def __init__(self, *inner: nn.Module) -> None:
        super().__init__()
        self.inner = nn.Sequential(*inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


class LanguageModel(nn.Module):
    """One layer, the words' embedding tied to the head; gives the loss of each word after the first."""

    def __init__(self, norm: Callable[[int], nn.Module], mlp: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.body = nn.Sequential(*(Residual(norm(WIDTH), part) for part in (Attention(), mlp())), norm(WIDTH))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        logits = self.body(self.words(words)) @ self.words.weight.t()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten(), reduction="none")


def gelu_mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(approximate="tanh"), nn.Linear(64, WIDTH))


class Patches(nn.Module):
    """A vision transformer's beginning: patches, one place more for the answer, positions."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.answer, self.places = nn.Parameter(torch.randn(WIDTH)), nn.Parameter(torch.randn(17, WIDTH))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        patches = self.cut(image).flatten(2).transpose(1, 2)
        return torch.cat((self.answer.expand(len(image), 1, -1), patches), dim=1) + self.places


class First(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, 0]


def convolution(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


class Kind(NamedTuple):
    model: Callable[[], nn.Module]
    batch: Callable[[], torch.Tensor]


KINDS = {
    "gpt": Kind(lambda: LanguageModel(nn.LayerNorm, gelu_mlp), lambda: torch.randint(WORDS, (2, 9))),
    "llama": Kind(lambda: LanguageModel(nn.RMSNorm, Gated), lambda: torch.randint(WORDS, (2, 9))),
    "vision transformer": Kind(
        lambda: nn.Sequential(
            *(Patches(), nn.TransformerEncoderLayer(WIDTH, HEADS, 64, 0.0, "gelu", batch_first=True, norm_first=True)),
            *(First(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)),
        ),
        lambda: torch.randn(2, 3, 16, 16),
    ),
    "residual convolutions": Kind(
        lambda: nn.Sequential(
            *(*convolution(3, 8), Residual(*convolution(8, 8), *convolution(8, 8)[:2]), nn.ReLU()),
            *(*convolution(8, 16, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)),
        ),
        lambda: torch.randn(2, 3, 16, 16),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_computes_and_trains_as_in_eager(name: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    theirs, batch = KINDS[name].model(), KINDS[name].batch()
    ours = copy.deepcopy(theirs)
    seen: dict[Phase, Lowered] = {}
    backend = Backend(lambda event: seen.update({event.phase: event}) if isinstance(event, Lowered) else None)
    compiled = torch.compile(ours, backend=backend)
    with torch.no_grad():
        close(compiled(batch), theirs(batch))
    for model, call in ((theirs, theirs), (ours, compiled)):
        call(batch).square().mean().backward()
        torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3).step()
    for mine, reference in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(mine.grad, reference.grad)
        close(mine, reference)
    for mine, reference in zip(ours.buffers(), theirs.buffers(), strict=True):
        close(mine, reference)
    assert set(seen) == set(Phase)
    assert all(event.mlir_ops and not event.failures for event in seen.values())


def close(got: torch.Tensor | None, wanted: torch.Tensor | None) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
