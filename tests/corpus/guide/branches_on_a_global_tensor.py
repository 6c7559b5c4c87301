import torch

weights = torch.ones(4)


@torch.compile
def weighted(values):
    if weights.max() > 0:
        return values * weights
    return values


weighted(torch.ones(4))
