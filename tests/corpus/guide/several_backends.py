import torch


def wave(values):
    return values.cos() + 1


for backend in ("eager", "aot_eager"):
    torch.compile(wave, backend=backend)(torch.ones(4))
