import torch

torch._dynamo.config.suppress_errors = True


@torch.compile
def wave(values):
    return torch.cos(values, values)


wave(torch.ones(4))
