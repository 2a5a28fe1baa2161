"""User-defined environments with robots that manipulate objects."""
