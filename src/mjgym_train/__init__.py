"""Training on the registry's ids; it needs the extra `train`.

`learn` trains and imports PyTorch; the other modules read runs, score policies and compare them,
and work without PyTorch.
"""
