"""Modules shared by several domains of the suite, and the optimal policy of one of them."""
