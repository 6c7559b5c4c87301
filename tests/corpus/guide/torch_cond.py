import torch


@torch.compile
def clipped(values):
    return torch.cond(values.mean() > 0, lambda v: v.clamp(max=1), lambda v: v.clamp(min=-1), (values,))


clipped(torch.ones(4))
