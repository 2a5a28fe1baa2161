"""General helpers: files, names, docstrings, generators."""
