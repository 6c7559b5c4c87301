import torch

network = torch.nn.Sequential(torch.nn.Linear(6, 2), torch.nn.Tanh())
compiled = torch.compile(network)

with torch.no_grad():
    for _ in range(2):
        compiled(torch.zeros(3, 6))
