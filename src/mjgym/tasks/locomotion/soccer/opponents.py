"""Policies of the away team when the home team is the single agent."""

import math
from collections.abc import Callable
from typing import Any, cast

from mjgym.task import Array, Arrays
from mjgym.util.catalogue import Catalogue

STILL, RANDOM, SCRIPTED = "still", "random", "scripted"
NAMED = (STILL, RANDOM, SCRIPTED)
SEEDS = 2**31  # numbers from 1 below it start a sequence
_WORD = 2**32 - 1

Player = Callable[[Array], Array]
"""From what players see, (..., numbers of the flat observation), to their actions, (..., k)."""

_players: Catalogue[Any] = Catalogue("opponent", cast(Any, Callable))


def find_player(name: str) -> Player:
    """Look up a function by "module:function"."""
    if ":" not in name:
        raise ValueError(
            f'opponent: {name!r} is none of {", ".join(NAMED)}, nor "module:function" of your own'
        )
    player: Player = _players.find(name)
    return player


def flat(xp: Any, entries: Arrays, lead: tuple[int, ...]) -> Array:
    """Concatenate entries as in a flat observation, (*lead, numbers)."""
    sizes = [math.prod(value.shape[len(lead) :]) for value in entries.values()]
    rows = zip(entries.values(), sizes, strict=True)
    return xp.concat([xp.reshape(value, (*lead, size)) for value, size in rows], axis=-1)


def following(words: Array) -> Array:
    """Next random words, integers from 1 to 2^32 - 1 (Marsaglia's xorshift, 2003).

    Hooks are functions of the state alone: their random numbers derive from words in the memory.
    """
    words = words ^ ((words << 13) & _WORD)
    words = words ^ (words >> 17)
    return words ^ ((words << 5) & _WORD)


def as_shares(xp: Any, words: Array) -> Array:
    """Map random words to [0, 1]."""
    return xp.astype(words, xp.float64) / _WORD
