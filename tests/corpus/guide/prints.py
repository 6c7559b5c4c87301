import torch


@torch.compile
def announced(values):
    squared = values**2
    print("squared")
    return squared.cos()


announced(torch.ones(4))
