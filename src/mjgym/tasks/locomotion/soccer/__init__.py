"""Soccer: two teams of walkers and a ball on a pitch."""
