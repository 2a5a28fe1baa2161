"""Parts of `goals.py`: the plan of runs, the peer, the rates, the tables."""
