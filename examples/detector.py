"""A one-stage object detector: a small convolutional network, box decoding, score filtering and suppression.

python examples/detector.py
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

STRIDE = 8


def box_iou(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of (n, 4) and (m, 4) corner boxes, as (n, m)."""
    top_left = torch.maximum(a[:, None, :2], b[None, :, :2])
    bottom_right = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    overlap = (bottom_right - top_left).clamp(min=0).prod(dim=-1)
    area_a = (a[:, 2:] - a[:, :2]).prod(dim=-1)
    area_b = (b[:, 2:] - b[:, :2]).prod(dim=-1)
    return overlap / (area_a[:, None] + area_b[None, :] - overlap)


def suppress(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """Greedy non-maximum suppression: indices of the boxes to keep, best first."""
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        best, rest = order[0], order[1:]
        keep.append(best)
        overlap = box_iou(boxes[best][None], boxes[rest])[0]
        order = rest[overlap <= threshold]
    return torch.stack(keep)


class Backbone(nn.Sequential):
    def __init__(self, width: int) -> None:
        super().__init__(
            nn.Conv2d(3, width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1),
            nn.ReLU(),
        )


class Detector(nn.Module):
    def __init__(self, width: int = 16, classes: int = 3) -> None:
        super().__init__()
        self.backbone = Backbone(width)
        self.scores = nn.Conv2d(width, classes, 1)
        self.distances = nn.Conv2d(width, 4, 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, 3, height, width) to boxes (batch, cells, 4) and logits (batch, cells, classes)."""
        features = self.backbone(images)
        logits = self.scores(features).flatten(2).transpose(1, 2)
        return self.decode(features), logits

    def decode(self, features: Tensor) -> Tensor:
        """Distances from the centre of each cell to the four sides, as corner boxes."""
        height, width = features.shape[-2:]
        y = (torch.arange(height, device=features.device) + 0.5) * STRIDE
        x = (torch.arange(width, device=features.device) + 0.5) * STRIDE
        centres = torch.stack(torch.meshgrid(x, y, indexing="xy")).flatten(1).T  # (cells, 2)
        distances = self.distances(features).flatten(2).transpose(1, 2).exp() * STRIDE
        return torch.cat([centres - distances[..., :2], centres + distances[..., 2:]], dim=-1)


@torch.compile
def detect(model: Detector, image: Tensor, threshold: float = 0.5, min_size: float = 4.0) -> dict[str, Tensor]:
    """Boxes, scores and labels of the objects in one (3, height, width) image."""
    boxes, logits = model(image[None])
    scores, labels = logits[0].sigmoid().max(dim=-1)
    confident = scores > threshold
    boxes, scores, labels = boxes[0, confident], scores[confident], labels[confident]
    size = boxes[:, 2:] - boxes[:, :2]
    large = torch.where((size >= min_size).all(dim=-1))[0]
    boxes, scores, labels = boxes[large], scores[large], labels[large]
    if len(boxes) > 0:
        kept = suppress(boxes, scores, threshold=0.5)
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
    return {"boxes": boxes, "scores": scores, "labels": labels}


def main() -> None:
    torch.manual_seed(0)
    model = Detector().eval()
    with torch.no_grad():
        for size in (64, 96, 64):
            found = detect(model, torch.rand(3, size, size))
            print(f"{size} pixels: {len(found['boxes'])} boxes, best score {found['scores'].max():.2f}")


if __name__ == "__main__":
    main()
