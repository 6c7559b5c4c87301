import torch


@torch.compile
def offset_by_length(values):
    doubled = values * 2
    with open(__file__, encoding="utf-8") as source:
        return doubled + len(source.read())


offset_by_length(torch.zeros(5))
