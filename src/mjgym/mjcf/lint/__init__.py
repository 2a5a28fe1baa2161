"""Checks, comparison and XPath edits of model files."""
