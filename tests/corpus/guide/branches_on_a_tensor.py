import torch


@torch.compile
def signed(values):
    total = values.mean()
    if total >= 0:
        return values * total.item()
    return values / total.item()


signed(torch.ones(5))
