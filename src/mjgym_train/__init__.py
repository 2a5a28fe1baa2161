"""Training, evaluation and comparison on the registry's ids; needs the extra `train`.

Only `learn` imports PyTorch.
"""
