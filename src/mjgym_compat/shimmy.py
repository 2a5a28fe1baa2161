"""The order in which Shimmy's environments have the numbers of a flat observation."""

from typing import Any

import gymnasium
import numpy as np

from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv


def flat_order(env: Any) -> np.ndarray:
    """Indices of Shimmy's flat observation in that of this package.

    `FlattenObservation` joins the entries of Shimmy's dict in the alphabetical order that Gymnasium
    gives them; here they have the published order.

    Args:
        env: of the package, single or batched, wrapped or not; of any observation.

    Returns:
        A permutation: `observation[..., flat_order(env)]` is in Shimmy's order.

    Raises:
        TypeError: the environment is not of this package.
    """
    if not isinstance(env.unwrapped, Env | VectorEnv):
        raise TypeError(f"flat_order: {env.unwrapped!r} is no environment of mjgym")
    shapes = env.unwrapped.entry_shapes
    box = gymnasium.spaces.Box(-1, 1, (1,))
    alphabetical = gymnasium.spaces.Dict(dict.fromkeys(shapes, box))
    sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    starts = dict(zip(shapes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    places = [np.arange(starts[name], starts[name] + sizes[name]) for name in alphabetical]
    return np.concatenate(places)
