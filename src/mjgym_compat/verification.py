"""Published environments and ours, stepped side by side by the same actions."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym import registry
from mjgym.datasets.recording import State
from mjgym.envs.players import PlayersVectorEnv
from mjgym.envs.vector import VectorEnv
from mjgym.loop.states import first_memory
from mjgym.sim.bounds import Bounds
from mjgym.sim.fields import KINDS
from mjgym.task import Task
from mjgym.util.suggestions import or_else
from mjgym_compat.published_environments import (
    FLAT,
    OfDmControl,
    Published,
    VerificationError,
    published_environment,
)

UNBOUNDED = 1.0  # actions without bounds are drawn from -1 to 1
# Fields of models that are look or bookkeeping.
LEFT_OUT = (
    *("rgba", "matid", "group", "adr", "num", "id", "bvh", "plugin", "user", "names", "data"),
    *("rbound", "aabb", "dof_length"),  # which also follow from what is only seen
)
OPTIONS = ("timestep", "gravity", "density", "viscosity", "integrator", "cone", "impratio")
# Fields without effect on bodies that cannot move.
STILL = ("body_ipos", "body_iquat", "body_mass", "body_inertia", "body_subtreemass")
SIZES: Any = {"width": 320, "height": 240}  # pixels of images
ALIKE = 3.0  # of 255, largest mean absolute difference of two images
SPHERE = int(mujoco.mjtGeom.mjGEOM_SPHERE)  # has one size
DIFFERENCES = ("model", "observation", "reward", "discount", "state")
SINGLE = 1e-6  # bound of numbers that the engine keeps in single precision


@dataclass
class Agreement:
    """Largest differences of an id, relative to max(1, |published|)."""

    id: str  # ours
    against: str  # the published package with its version
    bound: float  # largest difference allowed
    seeds: tuple[int, ...]
    engine: str = mujoco.__version__
    steps: int = 0
    # By "model", "observation", "reward", "discount" and "state"
    differences: dict[str, float] = field(default_factory=lambda: dict.fromkeys(DIFFERENCES, 0.0))
    where: dict[str, str] = field(default_factory=dict)  # the field or entry with each of them

    @property
    def holds(self) -> bool:
        return all(each <= self.bound for each in self.differences.values())

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}

    def note(self, what: str, name: str, ours: Any, published: Any) -> None:
        """Keep the difference of two arrays, if it is larger than those before."""
        if name.endswith("quat") and np.dot(ours, published) < 0:  # one rotation
            ours = -ours
        found = difference(ours, published)
        if getattr(ours, "dtype", None) == np.float32 and found < SINGLE:
            return
        if found > self.differences[what]:
            self.differences[what], self.where[what] = found, name


def difference(ours: Any, published: Any) -> float:
    """Largest difference relative to max(1, |published|); infinite for other shapes."""
    a, b = (np.asarray(x, float).ravel() for x in (ours, published))
    if a.shape != b.shape or np.isfinite(a).all() != np.isfinite(b).all():
        return float("inf")
    with np.errstate(invalid="ignore"):
        errors = np.where(a == b, 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(b)))
    return float(errors.max(initial=0.0))


class Match:
    """One match of players, with what is read of a single environment."""

    def __init__(self, id: str, **options: Any) -> None:
        registered = registry.registration(id)
        self.task = registered.task_class(**registered.fields)
        self._options = {**options, "threads": 1, "autoreset_mode": "Disabled"}
        self._begin(VectorEnv)

    def _begin(self, on: type[VectorEnv]) -> None:
        self._players: Any = PlayersVectorEnv(self.task, 1, on=on, **self._options)
        self.model, self.view = self._players.model, self._players.view
        self.action_space, self.close = self._players.action_space, self._players.close

    def take_numbers(self) -> None:
        """Simulate with the numbers in `model`: the engine's batch has a copy of the first."""
        state, model = self.get_state(), self.model

        class Renumbered(VectorEnv):
            def compiled_model(self, task: Task) -> mujoco.MjModel:
                return model

        self.close()
        self._begin(Renumbered)
        self.set_state(state)

    @property
    def data(self) -> SimpleNamespace:
        return SimpleNamespace(**self.get_state())

    def reset(self, seed: int) -> None:
        self._players.reset(seed=seed)

    def get_state(self) -> State:
        return {name: value[0] for name, value in self._players.get_state().items()}

    def set_state(self, state: State) -> None:
        """Restore entries of a state; the model gets those that were drawn, too."""
        shapes = {name: value.shape for name, value in self._players.get_state().items()}
        self._players.set_state({n: np.reshape(x, shapes[n]) for n, x in state.items()})
        for name in self.task.varies:
            if name in state:
                getattr(self.model, name)[: len(state[name])] = state[name]

    def step(self, actions: np.ndarray) -> tuple[dict[str, np.ndarray], Any, Any, Any, Any]:
        """Advance by one control step; entries begin with the player's number."""
        observation, rewards, terminated, truncated, info = self._players.step(actions)
        entries = {
            f"{player}: {name}": value
            for name, values in observation.items()
            for player, value in enumerate(values)
        }
        return entries, rewards, terminated[0], truncated[0], info


def verify(id: str, seeds: Iterable[int], steps: int) -> Agreement:
    """Compare an id with its published environment.

    Each episode starts where the published one does. The model's numbers are compared first, and
    ours then takes the published ones: they agree to 9 digits and more, but contacts magnify the
    12th. Where ours has left the published state it takes it again before the next step, so that a
    difference shows in the step in which it arises.

    Args:
        seeds: of the published starts and of the actions, which are uniform between their bounds.
        steps: control steps of an episode, which may end before.

    Raises:
        VerificationError: there is no such environment, or its package is not installed.
    """
    if id not in (known := registry.ids()):
        raise VerificationError(f"no id {id!r}{or_else(id, known)}")
    published = published_environment(id)
    options: dict[str, Any] = {"dtype": "float64", "observation": "dict"}
    if id.startswith("soccer/"):
        env: Any = Match(id, **options)
    else:
        options |= {"max_episode_steps": -1, "disable_env_checker": True}
        env = gymnasium.make(id, **options).unwrapped
    against = f"{published.package} {version(published.package)}"
    agreement = Agreement(id, against, published.bound, (*seeds,))
    for seed in agreement.seeds:
        published.start(seed)
        env.reset(seed=seed)
        published.prepare(env)
        env.set_state({**published.drawn(env), **published.state(env)})
        _adopt_numbers(env.model, published, agreement)
        if isinstance(env, Match):
            env.take_numbers()
        env.set_state(published.state(env))
        env.set_state(first_memory(env))
        _step_beside(env, published, agreement, np.random.default_rng(seed), steps)
    env.close()
    return agreement


def frames(id: str, seeds: Iterable[int]) -> Agreement:
    """Compare images at the starts of episodes, from the cameras that bodies carry.

    Ours have the published look, where there is one.
    """
    published = published_environment(id)
    if not isinstance(published, OfDmControl):
        raise VerificationError(f"{id}: images are compared with those of dm_control alone")
    against = f"{published.package} {version(published.package)}"
    agreement = Agreement(id, against, ALIKE, (*seeds,), differences={"image": 0.0})
    ours: Any = gymnasium.make(id, **SIZES).unwrapped
    if ours.task.has_published_look:
        ours.close()
        ours = gymnasium.make(id, look="published", **SIZES).unwrapped
    for seed in agreement.seeds:
        published.start(seed)
        ours.reset(seed=seed)
        ours.set_state({**published.drawn(ours), **published.state(ours)})
        for camera in map(ours.model.camera, np.flatnonzero(ours.model.cam_bodyid)):
            apart = np.abs(ours.camera(camera.name).astype(int) - published.picture(camera.name))
            if apart.mean() >= agreement.differences["image"]:
                agreement.differences["image"] = float(apart.mean())
                agreement.where["image"] = camera.name
    ours.close()
    return agreement


def _step_beside(
    env: Any, published: Published, agreement: Agreement, rng: np.random.Generator, steps: int
) -> None:
    space: Any = env.action_space
    low = np.where(np.isfinite(space.low), space.low, -UNBOUNDED).astype(float)
    high = np.where(np.isfinite(space.high), space.high, UNBOUNDED).astype(float)
    for _ in range(steps):
        before, data = published.state(env), env.data
        if any(not np.array_equal(getattr(data, n), x) for n, x in before.items()):
            env.set_state(before)
        action = rng.uniform(low, high)
        try:
            published.step(action)
        except published.diverges:
            return
        if published.diverged:
            return
        entries, reward, terminated, _, _ = env.step(action)
        agreement.steps += 1
        _compare(env, published, agreement, entries)
        agreement.note("reward", "", reward, published.reward)
        if published.discount is not None:
            agreement.note("discount", "", 1.0 - float(terminated), published.discount)
        if published.over or terminated:
            return


def _compare(
    env: Any, published: Published, agreement: Agreement, entries: Mapping[str, np.ndarray]
) -> None:
    theirs = published.observation
    if FLAT in theirs:
        entries = {FLAT: np.concatenate([np.ravel(x) for x in entries.values()])}
    missing = [n for n, x in theirs.items() if np.size(x) and n not in entries]
    if missing:
        raise VerificationError(f"{agreement.id}: the observation lacks {', '.join(missing)}")
    for name in entries.keys() & theirs.keys():
        agreement.note("observation", name, entries[name], theirs[name])
    data = env.data
    for name, value in published.state(env).items():
        if name in published.fields:
            agreement.note("state", name, getattr(data, name), value)


def _adopt_numbers(ours: mujoco.MjModel, published: Published, agreement: Agreement) -> None:
    """Compare a model's numbers with the published ones, and write those.

    They are infinitely different if the degrees of freedom are others.

    Elements are compared by name, those without by their order; left out are colours, meshes,
    whose frames the compiler fits, and elements that one of the two lacks.
    """
    theirs = published.model
    for name in ("nq", "nv", "nu", "na"):
        if getattr(ours, name) != getattr(theirs, name):
            agreement.differences["model"], agreement.where["model"] = float("inf"), name
            return
    for name in OPTIONS:
        agreement.note("model", name, getattr(ours.opt, name), getattr(theirs.opt, name))
    for name in published.arrays:
        here, there = getattr(ours, name), getattr(theirs, name)
        agreement.note("model", name, here, there)
        if here.shape == there.shape:
            here[:] = there
    for kind in published.kinds:
        rows = published.matched(ours, kind, *published.apart)
        for prefix in KINDS[kind].prefixes:
            pairs = [(i, i) for i in range(ours.nv)] if prefix == "dof_" else rows
            for name in _numbers(ours, prefix, len(pairs)):
                here, there = getattr(ours, name), getattr(theirs, name)
                for i, j in pairs:
                    if name in STILL and not ours.body_weldid[i]:
                        continue
                    used = slice(1 if name == "site_size" and ours.site_type[i] == SPHERE else None)
                    a, b = here[i : i + 1].ravel()[used], there[j].ravel()[used]
                    agreement.note("model", name, a, b)
                    a[:] = b
    # Boxes of bodies lie in the frames of their inertias, which may be others now.
    Bounds(ours, np.flatnonzero(ours.body_weldid[ours.geom_bodyid])).update(ours)


def _numbers(model: Any, prefix: str, count: int) -> list[str]:
    kept = []
    for name in dir(model):
        value = getattr(model, name, None) if name.startswith(prefix) else None
        if not isinstance(value, np.ndarray) or any(word in name for word in LEFT_OUT):
            continue
        if value.dtype.kind == "f" and len(value) >= count:
            kept.append(name)
    return kept
