"""Updates of off-policy agents without PyTorch's overhead: matrix products and compiled loops.

On one core a third to a half of an update's time in PyTorch is neither physics nor matrix products.
Here each loss stands beside its gradient, and everything but the products is a loop over memory,
compiled by numba (the extra `fast`). Networks, optimisers and random numbers stay PyTorch's: the
arrays here are views of the agent's own tensors. Checkpoints, policies and resumption are the same
with and without it.

    layers.py     perceptrons, forward and backward
    losses.py     critics: value, target, loss, each with its derivative
    optimizer.py  AdamW, gradient norm, moving targets
    updates.py    TD3, DDPG, D4PG and SAC
"""
