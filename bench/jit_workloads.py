"""The computations that `bench/jit.py` times: each makes a function or module, and what to call it with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Inputs: TypeAlias = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Case:
    function: Callable[..., Any]
    calls: tuple[Inputs, ...]
    """The arguments of one call after another, from the beginning again at their end."""
    trains: bool = False
    """The result is a loss: a step goes backward from it."""


def transcendental() -> Case:
    def function(x: Tensor, y: Tensor) -> Tensor:
        z = torch.tanh(x) * torch.sigmoid(y) + torch.exp(-x.abs())
        return torch.log1p(z.abs()) + torch.sin(x) * torch.cos(y)

    return Case(function, (_normal((1 << 20,), (1 << 20,)),))


def polynomial() -> Case:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return ((((x * 0.5 + y) * x - 0.25) * x + 1.5) * x - y) * x + 0.125

    return Case(function, (_normal((1 << 20,), (1 << 20,)),))


def softmax() -> Case:
    return Case(lambda x: torch.softmax(x, -1), (_normal((4096, 1024)),))


def layer_norm() -> Case:
    return Case(nn.LayerNorm(1024), (_normal((4096, 1024)),))


def rms_norm() -> Case:
    return Case(nn.RMSNorm(1024), (_normal((4096, 1024)),))


class GeluMLP(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        down: Tensor = self.down(F.gelu(self.up(x)))
        return down


class SwiGLU(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        down: Tensor = self.down(F.silu(self.gate(x)) * self.up(x))
        return down


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), -1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        return x + self.out(mixed)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.norm, self.mlp = Attention(width, heads), nn.LayerNorm(width), GeluMLP(width, 4 * width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention(x)
        return x + self.mlp(self.norm(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int, length: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits


def gelu_mlp() -> Case:
    return Case(GeluMLP(512, 2048), (_normal((64, 512)),))


def swiglu_mlp() -> Case:
    return Case(SwiGLU(512, 2048), (_normal((64, 512)),))


def attention() -> Case:
    return Case(Attention(256, 4), (_normal((4, 128, 256)),))


def rotary() -> Case:
    def function(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-right, left), -1) * sin

    angles = torch.outer(torch.arange(256.0), 1e4 ** (-torch.arange(0, 64, 2) / 64)).repeat(1, 2)
    return Case(function, ((torch.randn(4, 8, 256, 64), angles.cos(), angles.sin()),))


def cross_entropy() -> Case:
    return Case(F.cross_entropy, ((torch.randn(2048, 8192), torch.randint(8192, (2048,))),))


def sums() -> Case:
    return Case(lambda x: (x.sum(0), x.sum(1), x.sum(2)), (_normal((512, 1024, 8)),))


def convolution() -> Case:
    layers = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU()).eval()
    return Case(layers, (_normal((8, 32, 56, 56)),))


def gpt() -> Case:
    return Case(GPT(1024, 128, 256, 4, 4), ((torch.randint(1024, (4, 128)),),))


def gpt_step() -> Case:
    model = GPT(1024, 128, 256, 4, 4)

    def loss(tokens: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())

    tokens = torch.randint(1024, (4, 129))
    return Case(loss, ((tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),), trains=True)


def llama() -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=1024,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        use_cache=False,
    )
    model = LlamaForCausalLM(config).eval()
    return Case(lambda tokens: model(tokens).logits, ((torch.randint(1024, (4, 128)),),))


def changing_batch() -> Case:
    return Case(GeluMLP(512, 2048), tuple(_normal((batch, 512)) for batch in (64, 48, 80, 56, 72)))


def _normal(*shapes: tuple[int, ...]) -> Inputs:
    return tuple(torch.randn(shape) for shape in shapes)


WORKLOADS: dict[str, Callable[[], Case]] = {
    "transcendental chain, 1M": transcendental,
    "polynomial chain, 1M": polynomial,
    "softmax 4096×1024": softmax,
    "layer norm 4096×1024": layer_norm,
    "RMS norm 4096×1024": rms_norm,
    "GELU MLP": gelu_mlp,
    "SwiGLU MLP": swiglu_mlp,
    "attention block": attention,
    "rotary embedding": rotary,
    "cross entropy 2048×8192": cross_entropy,
    "sums over each axis": sums,
    "convolution, batch norm, ReLU": convolution,
    "GPT, 4 layers": gpt,
    "GPT, training step": gpt_step,
    "Llama, tiny": llama,
    "GELU MLP, changing batch": changing_batch,
}
