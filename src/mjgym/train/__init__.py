"""Training on the registry's ids: algorithms, the loop, run folders, evaluation, statistics.

It needs `pip install "mjgym[train]"`. What only reads runs (`policy`, `evaluation`, `statistics`,
`metrics`) works without PyTorch.
"""
