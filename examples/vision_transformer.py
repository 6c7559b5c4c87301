"""A small vision transformer with stochastic depth and masked pooling, compiled as one graph.

python examples/vision_transformer.py
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class DropPath(nn.Module):
    """Drops the residual branch of random samples, and scales the others up to keep the mean."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.keep = 1 - probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.keep == 1:
            return x
        kept = torch.rand(x.shape[0], 1, 1, device=x.device) < self.keep
        return torch.where(kept, x / self.keep, 0.0)


class Attention(nn.Module):
    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, length, hidden = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, hidden // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        if mask is not None:
            mask = mask[:, None, None, :]
        y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, length, hidden))


class Block(nn.Module):
    def __init__(self, hidden: int, heads: int, drop: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.attention = Attention(hidden, heads)
        self.mlp = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))
        self.drop = DropPath(drop)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + self.drop(self.attention(self.norm1(x), mask))
        return x + self.drop(self.mlp(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self, size: int = 32, patch: int = 8, hidden: int = 64, depth: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, hidden, patch, stride=patch)
        self.positions = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2, hidden))
        self.blocks = nn.ModuleList(Block(hidden, 4, 0.1 * index / depth) for index in range(depth))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, images: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, 3, size, size) to (batch, classes) logits; `mask` is true for the patches to look at."""
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions  # (batch, patches, hidden)
        for block in self.blocks:
            x = block(x, mask)
        x = self.norm(x)
        if mask is None:
            pooled = x.mean(dim=1)
        else:
            weights = mask[..., None].to(x.dtype)
            pooled = (x * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
        return self.head(pooled)


def main() -> None:
    torch.manual_seed(0)
    model = VisionTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forward = torch.compile(model, fullgraph=True, dynamic=True)
    for batch in (4, 6, 8):
        images, labels = torch.randn(batch, 3, 32, 32), torch.randint(10, (batch,))
        visible = torch.rand(batch, 16) < 0.75
        loss = F.cross_entropy(forward(images, visible), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"batch of {batch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
