"""Updates of off-policy agents without PyTorch's overhead: matrix products and compiled loops.

On one core most of an update's time in PyTorch is neither physics nor products of matrices. Here the
gradients are written out beside the losses they belong to, and everything that is no product is one
loop over memory, compiled by numba (the extra `fast`). Networks, optimisers and random numbers stay
PyTorch's: arrays of this package are views of the agent's own tensors, so checkpoints, policies and
resumption are the same with and without it.

    layers.py     perceptrons, forward and backward
    losses.py     critics: value, target, loss, each with its derivative
    optimizer.py  AdamW, gradient norm, moving targets
    updates.py    TD3, DDPG, D4PG and SAC
"""
