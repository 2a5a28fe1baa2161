"""What `goals.py` is made of: the plan of runs, the peer, the rates, the tables."""
