"""How the peers spell the ids, and how many sub-environments of each are compared."""

import difflib
import re
from collections.abc import Collection, Sequence

NAMESPACE = "dmc"
QUICK = (
    "dmc/cartpole-swingup-v0",
    "dmc/walker-walk-v0",
    "dmc/humanoid-run-v0",
    "dmc/quadruped-run-v0",
    "dmc/dog-run-v0",
)
DOG_ENVS = 32  # EnvPool holds each dog in about 100 MB

_ID = re.compile(rf"{NAMESPACE}/(?P<domain>\w+)-(?P<task>\w+)-v\d+")


def domain_and_task(id: str) -> tuple[str, str]:
    """Domain and task of an id, which is how dm_control spells it.

    Raises:
        ValueError: not an id of this namespace.
    """
    match = _ID.fullmatch(id)
    if match is None:
        raise ValueError(f"{id!r} is not of the form {NAMESPACE}/<domain>-<task>-v<number>")
    return match["domain"], match["task"]


def envpool_name(id: str) -> str:
    """EnvPool's spelling: "dmc/ball_in_cup-catch-v0" is its "BallInCupCatch-v1"."""
    words = "_".join(domain_and_task(id)).split("_")
    return "".join(word[0].upper() + word[1:] for word in words) + "-v1"


def envs_for(id: str, num_envs: int) -> int:
    """The number of sub-environments to compare at, where `num_envs` were asked for."""
    return min(num_envs, DOG_ENVS) if domain_and_task(id)[0] == "dog" else num_envs


def check_ids(wanted: Sequence[str], known: Collection[str]) -> None:
    """Refuse ids that are not registered.

    Raises:
        ValueError: an id is unknown; the message names the nearest ones.
    """
    for id in wanted:
        if id not in known:
            near = difflib.get_close_matches(id, known, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"no id {id!r}{hint}")
