"""Arms and hands."""
