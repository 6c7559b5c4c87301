"""Tags recordings of different lengths: a convolutional encoder over mel frames, then pooling over the valid frames.

python examples/audio_tagger/tagger.py
"""

from __future__ import annotations

import torch
from pooling import attentive_statistics, frame_mask
from torch import Tensor, nn

MELS = 40


class Encoder(nn.Module):
    """Four times fewer frames, each seeing its surroundings."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(MELS, width, 5, stride=2, padding=2)
        self.conv2 = nn.Conv1d(width, width, 5, stride=2, padding=2)
        self.norm = nn.LayerNorm(width)

    def forward(self, mels: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, mels, frames) to (batch, frames / 4, width), and the lengths that belong to it."""
        x = self.conv2(self.conv1(mels).relu()).relu()
        return self.norm(x.transpose(1, 2)), (lengths + 3) // 4


class Tagger(nn.Module):
    def __init__(self, width: int = 32, tags: int = 10) -> None:
        super().__init__()
        self.encoder = Encoder(width)
        self.attention = nn.Linear(width, 1)
        self.head = nn.Linear(2 * width, tags)

    def forward(self, mels: Tensor, lengths: Tensor) -> Tensor:
        """(batch, mels, frames) and the valid frames of each recording to (batch, tags) probabilities."""
        x, lengths = self.encoder(mels, lengths)
        mask = frame_mask(lengths)
        x = x[:, : mask.shape[1]]  # drop the frames that are padding in every recording
        pooled = attentive_statistics(x, self.attention(x), mask)
        return self.head(pooled).sigmoid()


def main() -> None:
    torch.manual_seed(0)
    model = torch.compile(Tagger().eval())
    with torch.no_grad():
        for frames in ([100, 80], [120, 64], [96, 96]):
            lengths = torch.tensor(frames)
            mels = torch.randn(2, MELS, 128)
            tags = model(mels, lengths)
            print(frames, "->", [round(score, 2) for score in tags.max(dim=-1).values.tolist()])


if __name__ == "__main__":
    main()
