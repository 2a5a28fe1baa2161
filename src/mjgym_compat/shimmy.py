"""Order of Shimmy's flat observation."""

from typing import Any

import gymnasium
import numpy as np

from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv


def flat_order(env: Any) -> np.ndarray:
    """Indices into this package's flat observation, in Shimmy's order.

    `FlattenObservation` joins Shimmy's dict entries in Gymnasium's alphabetical order; here they
    have the published order.

    Args:
        env: of this package, single or batched, wrapped or not, with any observation.

    Returns:
        A permutation: `observation[..., flat_order(env)]` is in Shimmy's order.
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
