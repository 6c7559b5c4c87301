"""A training loop whose whole step is compiled: forward, backward, clipping, optimizer, schedule and logging.

python examples/train_step.py
"""

from __future__ import annotations

import logging
import os

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import SGD, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler

logger = logging.getLogger("train")


class Classifier(nn.Module):
    """Learns from clean and noisy batches in turn."""

    def __init__(self, features: int = 20, hidden: int = 64, classes: int = 5, noise_every: int = 2) -> None:
        super().__init__()
        self.noise_every = noise_every
        self.turn = 0
        self.hidden1 = nn.Linear(features, hidden)
        self.hidden2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, classes)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, features) to (batch, classes) logits."""
        if self.training:
            self.turn = (self.turn + 1) % self.noise_every
            if self.turn == 0:
                x = x + 0.1 * torch.randn_like(x)
        x = self.dropout(F.relu(self.hidden1(x)))
        x = self.dropout(F.relu(self.hidden2(x)))
        return self.out(x)


def smoothing() -> float:
    """Label smoothing, which can be set from the outside for sweeps."""
    return float(os.getenv("LABEL_SMOOTHING", "0.1"))


@torch.compile
def train_step(
    model: nn.Module, optimizer: Optimizer, schedule: LRScheduler, x: Tensor, y: Tensor, step: int
) -> Tensor:
    """One update of the model's parameters; returns the loss, detached."""
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y, label_smoothing=smoothing())
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if not torch.isfinite(norm):
        logger.warning("step %d: gradients are not finite, step skipped", step)
        return loss.detach()
    optimizer.step()
    schedule.step()
    if step % 5 == 0:
        logger.info("step %d: loss %.4f, lr %.2e", step, loss.item(), schedule.get_last_lr()[0])
    return loss.detach()


@torch.compile
@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Share of the right answers."""
    return (model(x).argmax(dim=-1) == y).float().mean()


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    model = Classifier()
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = CosineAnnealingLR(optimizer, T_max=12)
    centres = torch.randn(5, 20)
    model.train()
    for step in range(12):
        y = torch.randint(5, (32,))
        x = centres[y] + 0.5 * torch.randn(32, 20)
        train_step(model, optimizer, schedule, x, y, step)
    model.eval()
    for batch in (64, 50):
        y = torch.randint(5, (batch,))
        logger.info("accuracy %.2f", accuracy(model, centres[y] + 0.5 * torch.randn(batch, 20), y).item())


if __name__ == "__main__":
    main()
