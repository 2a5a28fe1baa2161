"""Training on the registry's ids; it needs the extra `train`.

`learn` trains and imports PyTorch; `results` reads runs, scores policies and compares them, and
works without PyTorch.
"""
