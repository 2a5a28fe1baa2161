"""Run folders, settings, policies, evaluation, statistics and comparison, without PyTorch."""
