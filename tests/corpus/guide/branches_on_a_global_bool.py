import torch

weights = torch.ones(4)
positive = bool(weights.max() > 0)


@torch.compile
def weighted(values):
    if positive:
        return values * weights
    return values


weighted(torch.ones(4))
