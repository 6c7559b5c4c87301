import argparse

import torch
from model import Net

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
net = torch.compile(Net(), backend="eager")
for _ in range(parser.parse_args().steps):
    net(torch.ones(4, 16)).sum().backward()
