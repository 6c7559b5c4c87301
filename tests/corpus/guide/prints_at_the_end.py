import torch

torch._dynamo.config.reorderable_logging_functions.add(print)


@torch.compile
def announced(values):
    squared = values**2
    print("squared")
    return squared.cos()


announced(torch.ones(4))
