import torch


def helper(values):
    return values.abs()


@torch.compiler.disable
def never_compiled(values):
    return helper(values) + 1


@torch.compiler.disable(recursive=False)
def compiled_below(values):
    return helper(values) + 2


@torch.compile
def both(values):
    first = never_compiled(values)
    return compiled_below(first * 3)


both(torch.zeros(5))
