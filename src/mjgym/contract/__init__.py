"""The rest of a task's contract: the hooks that few tasks need, fields, registration, labels."""
