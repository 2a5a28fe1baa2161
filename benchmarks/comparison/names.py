"""The compared ids and their numbers of sub-environments."""

import difflib
from collections.abc import Collection, Sequence

QUICK = (
    "dmc/cartpole-swingup-v0",
    "dmc/walker-walk-v0",
    "dmc/humanoid-run-v0",
    "dmc/quadruped-run-v0",
    "dmc/dog-run-v0",
)
DOG_ENVS = 32  # EnvPool holds each dog in about 100 MB


def envs_for(id: str, num_envs: int) -> int:
    """Number of sub-environments to compare at, where `num_envs` were asked for."""
    return min(num_envs, DOG_ENVS) if id.startswith("dmc/dog-") else num_envs


def check_ids(wanted: Sequence[str], known: Collection[str]) -> None:
    """Check that ids are registered.

    Raises:
        ValueError: an id is unknown; the message names the nearest ones.
    """
    for id in wanted:
        if id not in known:
            near = difflib.get_close_matches(id, known, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"no id {id!r}{hint}")
