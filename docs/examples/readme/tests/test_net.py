import torch
from package.model import Net


def test_forward():
    assert torch.compile(Net(), backend="eager")(torch.ones(2, 16)).shape == (2, 16)
