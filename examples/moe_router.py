"""A mixture of experts, trained: tokens are sorted by expert, so that each expert runs once on a contiguous slice.

python examples/moe_router.py
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Router(nn.Module):
    """Picks the best experts of each token, and measures how evenly the load is spread."""

    def __init__(self, hidden: int, experts: int, top_k: int) -> None:
        super().__init__()
        self.experts = experts
        self.top_k = top_k
        self.gate = nn.Linear(hidden, experts, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(tokens, hidden) to weights and expert indices of shape (tokens, k), and the balance loss."""
        probabilities = self.gate(x).softmax(dim=-1)
        weights, chosen = probabilities.topk(self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        share = F.one_hot(chosen, self.experts).float().mean(dim=(0, 1))
        balance = self.experts * (share * probabilities.mean(dim=0)).sum()
        return weights, chosen, balance


class Expert(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.up = nn.Linear(hidden, 2 * hidden)
        self.down = nn.Linear(2 * hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.up(x)))


class MixtureOfExperts(nn.Module):
    def __init__(self, hidden: int, experts: int = 4, top_k: int = 2) -> None:
        super().__init__()
        self.router = Router(hidden, experts, top_k)
        self.experts = nn.ModuleList(Expert(hidden) for _ in range(experts))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(tokens, hidden) to the same shape, and the balance loss."""
        weights, chosen, balance = self.router(x)
        if self.training:
            return self.run_sorted(x, weights, chosen), balance
        return self.run_hit(x, weights, chosen), balance

    def run_sorted(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """All experts, each on the slice of the sorted tokens that is its own."""
        order = chosen.flatten().argsort()
        token = order // self.router.top_k
        counts = F.one_hot(chosen.flatten(), len(self.experts)).sum(dim=0)
        slices = x[token].split(counts.tolist())
        outputs = [expert(part) for expert, part in zip(self.experts, slices, strict=True)]
        scaled = torch.cat(outputs) * weights.flatten()[order, None]
        return torch.zeros_like(x).index_add(0, token, scaled)

    def run_hit(self, x: Tensor, weights: Tensor, chosen: Tensor) -> Tensor:
        """Only the experts that some token chose: a few, for the single tokens of decoding."""
        out = torch.zeros_like(x)
        for index in chosen.unique().tolist():
            token, slot = torch.where(chosen == index)
            out = out.index_add(0, token, self.experts[index](x[token]) * weights[token, slot, None])
        return out


class Block(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.moe = MixtureOfExperts(hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, length, hidden) to the same shape, and the balance loss."""
        y, balance = self.moe(self.norm(x).flatten(0, 1))
        return x + y.view_as(x), balance


def main() -> None:
    torch.manual_seed(0)
    model = nn.ModuleList(Block(32) for _ in range(2)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def forward(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        balance = x.new_zeros(())
        for block in model:
            x, extra = block(x)
            balance = balance + extra
        return F.mse_loss(x, target), balance

    for length in (8, 12, 16):
        x = torch.randn(2, length, 32)
        loss, balance = forward(x, x.roll(1, dims=1))
        (loss + 0.01 * balance).backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"length {length}: loss {loss.item():.3f}, balance {balance.item():.3f}")


if __name__ == "__main__":
    main()
