"""Pooling over time that ignores padding: from frames and their number per recording to one vector."""

from __future__ import annotations

import torch
from torch import Tensor


def frame_mask(lengths: Tensor, frames: int | None = None) -> Tensor:
    """(batch,) lengths to a (batch, frames) mask, true for valid frames; as long as the longest by default."""
    if frames is None:
        frames = int(lengths.max())
    return torch.arange(frames, device=lengths.device) < lengths[:, None]


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """(batch, frames, width) to the mean of the valid frames, (batch, width)."""
    weights = mask.unsqueeze(-1).to(x.dtype)
    return (x * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def attentive_statistics(x: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """Mean and standard deviation over the valid frames, weighted by attention: (batch, 2 * width)."""
    scores = scores.squeeze(-1).masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=1).unsqueeze(-1)
    if torch.isnan(weights).any():  # a recording without a single valid frame
        mean = masked_mean(x, mask)
        return torch.cat([mean, torch.zeros_like(mean)], dim=-1)
    mean = (weights * x).sum(dim=1)
    variance = (weights * (x - mean[:, None]) ** 2).sum(dim=1)
    return torch.cat([mean, variance.clamp(min=1e-6).sqrt()], dim=-1)
