import torch

network = torch.nn.Linear(6, 2)
optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)


@torch.compile
def step(batch):
    optimizer.zero_grad()
    network(batch).mean().backward()
    optimizer.step()
    schedule.step()


for _ in range(5):
    step(torch.ones(4, 6))
