import torch


@torch.compile
def faded(values, factor):
    return values * factor


for epoch in range(6):
    faded(torch.ones(4), 0.9 - 0.1 * epoch)
