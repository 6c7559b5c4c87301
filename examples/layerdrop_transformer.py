"""A small decoder-only transformer: training with LayerDrop, then decoding with a key/value cache.

python examples/layerdrop_transformer.py
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    vocab_size: int = 128
    hidden: int = 64
    heads: int = 4
    layers: int = 2
    max_length: int = 64
    max_batch: int = 1
    layerdrop: float = 0.2
    check_finite: bool = False


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden)
        self.out = nn.Linear(config.hidden, config.hidden)
        cache = torch.zeros(config.max_batch, config.heads, config.max_length, config.hidden // config.heads)
        self.register_buffer("cached_keys", cache, persistent=False)
        self.register_buffer("cached_values", cache.clone(), persistent=False)

    def forward(self, x: Tensor, start: int, use_cache: bool) -> Tensor:
        batch, length, hidden = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, hidden // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # (batch, heads, length, head size) each
        if use_cache:
            end = start + length
            self.cached_keys[:batch, :, start:end] = key
            self.cached_values[:batch, :, start:end] = value
            key, value = self.cached_keys[:batch, :, :end], self.cached_values[:batch, :, :end]
        y = F.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        return self.out(y.transpose(1, 2).reshape(batch, length, hidden))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.hidden)
        self.norm2 = nn.LayerNorm(config.hidden)
        self.attention = Attention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.hidden, 4 * config.hidden), nn.GELU(), nn.Linear(4 * config.hidden, config.hidden)
        )

    def forward(self, x: Tensor, start: int, use_cache: bool) -> Tensor:
        x = x + self.attention(self.norm1(x), start, use_cache)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.hidden)
        self.positions = nn.Embedding(config.max_length, config.hidden)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.head = nn.Linear(config.hidden, config.vocab_size)
        self.seen_tokens = 0

    def forward(self, tokens: Tensor, start: int = 0, use_cache: bool = False) -> Tensor:
        """(batch, length) token ids to (batch, length, vocabulary) logits; `start` is the position of the first."""
        positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            if self.training and torch.rand(()) < self.config.layerdrop:
                continue
            x = block(x, start, use_cache)
        if self.config.check_finite and not torch.isfinite(x).all():
            raise FloatingPointError("the residual stream overflowed")
        return self.head(x)

    @torch.compile
    @torch.no_grad()
    def decode(self, tokens: Tensor) -> Tensor:
        """Append (batch, new) tokens to the sequence; returns the most likely next one, (batch, 1)."""
        logits = self.forward(tokens, start=self.seen_tokens, use_cache=True)
        self.seen_tokens += tokens.shape[1]
        return logits[:, -1:].argmax(dim=-1)


def main() -> None:
    torch.manual_seed(0)
    config = Config()
    model = Decoder(config)

    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(3):
        batch = torch.randint(config.vocab_size, (4, 17))
        logits = compiled(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"loss {loss.item():.3f}")

    model.eval()
    token = model.decode(torch.randint(config.vocab_size, (1, 8)))
    generated = [token]
    for _ in range(12):
        token = model.decode(token)
        generated.append(token)
    print("generated", torch.cat(generated, dim=1)[0].tolist())


if __name__ == "__main__":
    main()
