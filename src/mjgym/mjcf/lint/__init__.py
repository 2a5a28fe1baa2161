"""Model files as text: what is wrong in them, how two differ, and edits by path."""
