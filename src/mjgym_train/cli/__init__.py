"""Commands of training: train, evaluate, compare, export."""
