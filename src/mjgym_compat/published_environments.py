"""Published environments as `mjgym verify` steps them beside ours."""

import contextlib
import copy
import functools
import importlib
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from typing import Any, ClassVar

import gymnasium
import mujoco
import numpy as np

from mjgym import registry
from mjgym.datasets.recording import State
from mjgym.sim.fields import KINDS, PREFIXES
from mjgym.sim.single import SingleView
from mjgym_compat.installing import install
from mjgym_compat.robosuite_hdf5 import RecordedModel

LOADED = 7  # seed when a task is loaded, which draws the springs of lqr and the first maze
MOVING = ("time", "qpos", "qvel", "act", "qacc_warmstart")
MOCAP = ("mocap_pos", "mocap_quat")
CONTACTS = 1e-7  # bound where contacts come and go, which magnify rounding up to 10^7 times
# robosuite rounds rotations to single precision, 6e-8, and its controllers have a stiffness of 150.
TURNS = 1e-4
# The objects of PickPlace are meshes in robosuite. Where one touches something its speed is another
# for a moment, and its place by as much as 1 m/s makes of a control step of 0.05 s.
GROCERIES = 5e-2
ROBOTS = ("robot", "gripper", "fixed_mount")  # beginnings of the names of robots' bodies
VISION = "_vision"  # end of the names of tasks with pictures
MARKER = "contact"  # beginning of the names of Wipe's sites
FLAT = "observation"  # entry of an observation that has no entries
MESH = int(mujoco.mjtGeom.mjGEOM_MESH)
EXPLODED = 1e4  # m/s and rad/s, beyond which a simulation diverges
PARKED = -50.0  # m, height of parts of an arena that an episode lacks


class VerificationError(ValueError):
    """No published environment belongs to an id, or its package is not installed."""


class Published(ABC):
    """A published environment and its comparable quantities."""

    package: ClassVar[str]
    bound = 1e-9  # largest difference that the fidelity guide allows
    kinds: tuple[str, ...] = ("body", "joint", "geom", "site", "actuator", "tendon")
    arrays: tuple[str, ...] = ("qpos_spring", "wrap_prm")  # of the model, as a whole
    apart: tuple[str, ...] = ()  # beginnings of our names of elements that differ
    shaped: tuple[str, ...] = ()  # of bodies whose shapes are ours, and touch nothing here
    fields: tuple[str, ...] = ("qpos", "qvel", "act")  # of the state after a step
    model: mujoco.MjModel
    data: mujoco.MjData
    observation: Any
    reward: Any  # of the last step; with players, of each
    discount: float | None = 1.0  # 0 if the last step ended the episode for good
    over = False
    diverges: tuple[type[Exception], ...] = ()  # what a step raises whose simulation diverges

    @abstractmethod
    def __init__(self, id: str) -> None: ...

    @abstractmethod
    def start(self, seed: int) -> None:
        """Start an episode."""

    @abstractmethod
    def step(self, action: np.ndarray) -> None:
        """Advance by one control step."""

    @classmethod
    def lacks(cls, id: str) -> str:
        """The reason why an id of its namespace is not compared; empty if it is."""
        return ""

    def state(self, env: Any) -> State:
        """The published state as entries of one of ours."""
        return self._shared(env, (*MOVING, *MOCAP))

    def drawn(self, env: Any) -> State:
        """Draws of the published episode, as entries of a state of ours."""
        return self._shared(env, env.task.varies)

    def prepare(self, env: Any) -> None:
        """Switch off contacts of `shaped` bodies in both models."""
        for model in (env.model, self.model) if self.shaped else ():
            for geom in range(model.ngeom):
                if model.body(model.geom_bodyid[geom]).name.startswith(self.shaped):
                    model.geom_contype[geom] = model.geom_conaffinity[geom] = 0

    @property
    def diverged(self) -> bool:
        """True once the simulation has diverged; a published match continues regardless."""
        return bool(np.abs(self.data.qvel).max(initial=0.0) > EXPLODED)

    def name_here(self, name: str) -> str:
        return name

    def matched(self, model: mujoco.MjModel, kind: str, *apart: str) -> list[tuple[int, int]]:
        """Pairs of numbers of the elements that a model of ours and the published one have.

        Those without a name are matched in their order. Meshes, whose frames the compiler fits, and
        shapes without name that are only seen are left out, and names that begin with `apart`.
        """
        here = _numbered(model, kind)
        there = {self.name_here(name): i for name, i in _numbered(self.model, kind).items()}
        return [
            (i, there[name])
            for name, i in here.items()
            if name in there and not name.startswith(apart)
        ]

    def _shared(self, env: Any, names: Collection[str]) -> State:
        shared: State = {}
        for name, value in env.get_state().items():
            owner = self.data if hasattr(self.data, name) else self.model
            if name in names:
                shared[name] = np.array(getattr(owner, name), value.dtype).reshape(value.shape)
        return shared


def _numbered(model: Any, kind: str) -> dict[str, int]:
    element = getattr(model, kind)
    found, unnamed = {}, 0
    for i in range(getattr(model, KINDS[kind].count)):
        if kind == "geom" and model.geom_type[i] == MESH:
            continue
        seen = kind == "geom" and not (model.geom_contype[i] or model.geom_conaffinity[i])
        if seen and not element(i).name:
            continue
        unnamed += not element(i).name
        found[element(i).name or f"#{unnamed}"] = i
    return found


def _named(id: str) -> str:
    return id.partition("/")[2].rpartition("-v")[0]


class OfDmControl(Published):
    """An environment of dm_control, made by `load`; its model is compiled in each reset."""

    package = "dm_control"

    def __init__(self, id: str) -> None:
        install("dm_control")
        self.diverges = (importlib.import_module("dm_control.rl.control").PhysicsError,)
        with seeded(LOADED):
            self._env = self.load(_named(id))

    @abstractmethod
    def load(self, name: str) -> Any:
        """Make the environment of an id, given without namespace and version."""

    def seed(self, seed: int) -> None:
        self._env.random_state.seed(seed)

    def start(self, seed: int) -> None:
        with seeded(seed):
            self.seed(seed)
            self._env.reset()
        physics = self._env.physics
        self.model, self.data, self.over = physics.model.ptr, physics.data.ptr, False

    def picture(self, camera: str) -> Any:
        return self._env.physics.render(240, 320, camera)

    def step(self, action: np.ndarray) -> None:
        timestep = self._env.step(action)
        self.observation, self.over = timestep.observation, timestep.last()
        self.reward, self.discount = timestep.reward, float(timestep.discount)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator, from which mazes and orbs are drawn, for a while."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)


class OfSuite(OfDmControl):
    """A task of `dm_control.suite`."""

    def load(self, name: str) -> Any:
        if name.startswith("dog"):
            self.bound = CONTACTS
        suite: Any = importlib.import_module("dm_control.suite")
        kwargs = {"random": LOADED, "time_limit": float("inf")}
        return suite.load(*name.split("-"), task_kwargs=kwargs)

    def seed(self, seed: int) -> None:
        self._env.task.random.seed(seed)


class OfManipulation(OfDmControl):
    """A task of `dm_control.manipulation`."""

    shaped = ("jaco_arm",)

    @classmethod
    def lacks(cls, id: str) -> str:
        if VISION in id:
            same = _named(id).replace(VISION, "_features")
            return f"has pictures beside the numbers of manipulation/{same}-v0"
        return "draws an order; the fixed one is compared" if "random_order" in id else ""

    def load(self, name: str) -> Any:
        manipulation: Any = importlib.import_module("dm_control.manipulation")
        return manipulation.load(name)

    def step(self, action: np.ndarray) -> None:
        super().step(action)
        self.observation = {n: x[0] for n, x in self.observation.items()}  # no history

    def drawn(self, env: Any) -> State:
        drawn = {name: env.get_state()[name] for name in env.task.varies}
        for name, numbers in drawn.items():
            for i, j in self.matched(env.model, PREFIXES[name.partition("_")[0]]):
                numbers[i] = getattr(self.model, name)[j]
        return drawn


def _varied(env: Any, model: mujoco.MjModel) -> State:
    state = env.get_state()  # bounding volumes of meshes come behind those of bodies
    return {name: np.array(getattr(model, name)[: len(state[name])]) for name in env.task.varies}


class OfLocomotion(OfDmControl):
    """An example of `dm_control.locomotion`."""

    bound = CONTACTS
    apart = ("target_",)  # their frames

    @classmethod
    def lacks(cls, id: str) -> str:
        if id.startswith("locomotion/cmu_humanoid-tracking"):
            return "reads motions that dm_control downloads, 488 MB"
        extra = "extra" in registry.registration(id).tags
        return "is made of published walkers and arenas, but no published task" if extra else ""

    def load(self, name: str) -> Any:
        file = "basic_cmu_2019" if name.startswith("cmu") else "basic_rodent_2020"
        examples = importlib.import_module(f"dm_control.locomotion.examples.{file}")
        env = getattr(examples, name.replace("-", "_"))(np.random.RandomState(LOADED))
        env._time_limit = float("inf")
        env.task._walker.observables.egocentric_camera.enabled = False
        for textures in getattr(env.task.root_entity, "_wall_textures", {}).values():
            del textures[1:]  # the first is that of `look="published"`
        return env

    @property
    def _is_maze(self) -> bool:
        return hasattr(self._env.task, "_active_targets")

    def seed(self, seed: int) -> None:
        super().seed(seed)
        self._seed, task = seed, self._env.task
        if hasattr(task, "_randomize_targets"):  # TwoTouch, whose orbs follow the global generator
            draw = functools.partial(type(task)._randomize_targets, task)
            task._randomize_targets = functools.partial(
                draw, random_state=np.random.RandomState(seed)
            )

    def start(self, seed: int) -> None:
        super().start(seed)
        # A target in the middle of a maze is touched there by the walker that is not placed yet.
        for target in itertools.chain(*getattr(self._env.task, "_active_targets", ())):
            target._activated = target._geom_id in self.data.contact.geom

    def step(self, action: np.ndarray) -> None:
        super().step(action)
        if self._is_maze:  # whose discount is 1 after a fall, too
            self.discount = 1.0 - float(self.over)

    def name_here(self, name: str) -> str:
        if name == "groundplane":
            return "ground"
        if name.startswith("target_") and name.endswith("/geom"):
            targets = [n for n in _numbered(self.model, "geom") if n.startswith("target_")]
            return f"target_{targets.index(name)}"
        return name.replace("wall*", "wall")

    def state(self, env: Any) -> State:
        state = self._shared(env, MOVING)
        if env.model.nmocap:
            state["mocap_pos"] = self.model.geom("target_0_0/geom").pos[None].copy()
        return state

    def drawn(self, env: Any) -> State:
        model = copy.copy(env.model)
        view = SingleView(model, mujoco.MjData(model))
        there = {self.name_here(name): i for name, i in _numbered(self.model, "geom").items()}
        parts = [
            n for n in _numbered(model, "geom") if n.startswith(("wall_", "floor_", "target_"))
        ]
        for name in parts:
            geom, i = view.geom(name), there.get(name, -1)
            geom.pos = (0.0, 0.0, PARKED) if i < 0 else self.data.geom_xpos[i]
            geom.size = geom.size if i < 0 else self.model.geom_size[i]
        view.refit(parts)
        if model.nhfield:
            model.hfield_data[:] = self.model.hfield_data
        if "site_pos" in env.task.varies and self.model.nsite:
            for i, j in self.matched(model, "site", "walker/"):
                model.site_pos[i] = self.model.site_pos[j]
        return _varied(env, model) | self._drawn_values(env)

    def _drawn_values(self, env: Any) -> State:
        """Numbers that our task keeps with its simulation: values of targets, places of orbs."""
        task, values = self._env.task, np.zeros(env.model.nuserdata)
        if self._is_maze:
            kinds = zip(task._target_type_rewards, task._active_targets, strict=True)
            worth = [reward for reward, targets in kinds for _ in targets]
            most = len(values) // 2
            values[: len(worth)] = worth
            values[most : most + len(worth)] = 1.0
        elif len(values):
            values[:] = np.random.RandomState(self._seed).uniform(-1.0, 1.0, len(values))
            values *= task._target_area[0]
        return {"userdata": values} if len(values) else {}


class OfSoccer(OfDmControl):
    """A match of `dm_control.locomotion.soccer`, with one row of actions for each player."""

    kinds, arrays = ("body", "joint", "geom", "actuator", "tendon"), ()

    def load(self, name: str) -> Any:
        soccer: Any = importlib.import_module("dm_control.locomotion.soccer")
        initializers = importlib.import_module("dm_control.locomotion.walkers.initializers")
        kind, _, size = name.partition("-")
        before = soccer.mocap.CMUMocapInitializer
        try:  # humanoids begin with motions that dm_control downloads, 488 MB
            soccer.mocap.CMUMocapInitializer = initializers.UprightInitializer
            walker = soccer.WalkerType[kind.upper()]
            return soccer.load(int(size[0]), time_limit=float("inf"), walker_type=walker)
        finally:
            soccer.mocap.CMUMocapInitializer = before

    def seed(self, seed: int) -> None:
        super().seed(seed)
        self._seed, task, shares = seed, self._env.task, np.random.RandomState(seed)
        throw = type(task)._throw_in
        task._throw_in = lambda physics, _, ball: throw(task, physics, shares, ball)

    def step(self, action: np.ndarray) -> None:
        super().step(np.asarray(action))
        self.observation = {
            f"{player}: {name}": value[0]
            for player, entries in enumerate(self.observation)
            for name, value in entries.items()
        }

    def name_here(self, name: str) -> str:
        if name in ("soccer_ball/geom", "soccer_ball/"):
            return "ball"
        return re.sub(r"^(home|away)(\d)/", r"\1_\2/", name).replace("_goal/", "_goal_")

    def matched(self, model: mujoco.MjModel, kind: str, *apart: str) -> list[tuple[int, int]]:
        pairs = super().matched(model, kind, *apart)
        if kind == "body":  # frames of players stand elsewhere before a match
            return [(i, j) for i, j in pairs if not model.body(i).name.endswith("/")]
        if kind == "geom":  # what is only seen is ours, and so is the end of the ground
            solid = model.geom_contype | model.geom_conaffinity
            solid[model.geom("ground").id] = 0
            return [(i, j) for i, j in pairs if solid[i]]
        return pairs

    def drawn(self, env: Any) -> State:
        model = env.task.model().compile()
        env.task.ground.place(SingleView(model, mujoco.MjData(model)), self._env.task.arena.size)
        shares = np.random.RandomState(self._seed).uniform(0.7, 0.9, model.nuserdata)
        return {**_varied(env, model), "userdata": shares}


class OfGymnasium(Published):
    """A task of `gymnasium.envs.mujoco`."""

    package = "gymnasium"

    def __init__(self, id: str) -> None:
        made: Any = gymnasium.make(id.partition("/")[2])
        self._env = made.unwrapped
        self.model, self.data = self._env.model, self._env.data

    def start(self, seed: int) -> None:
        self._env.reset(seed=seed)
        self.over = False

    def step(self, action: np.ndarray) -> None:
        observation, reward, terminated, _, _ = self._env.step(action)
        self.observation, self.over = {FLAT: observation}, terminated
        self.reward, self.discount = float(reward), 1.0 - float(terminated)


class OfRobosuite(Published):
    """An environment of robosuite.

    Its entries are one physics step old after a step, and are read anew. It rounds rotations to
    single precision. The shapes of robots differ, so that theirs touch nothing in both, and the
    frames of their bases are left out.
    """

    package, bound = "robosuite", TURNS
    kinds = ("body", "joint", "geom", "actuator")
    shaped = ROBOTS
    apart = ("fixed_mount", "robot0_base", "robot1_base", "Visual")
    discount = None

    @classmethod
    def lacks(cls, id: str) -> str:
        return "draws its object; the ids of each object are compared" if "Single-" in id else ""

    def __init__(self, id: str) -> None:
        if "PickPlace" in id:
            self.bound, self.fields = GROCERIES, ("qpos",)
        install("robosuite")
        suite: Any = importlib.import_module("robosuite")
        suite.ROBOSUITE_DEFAULT_LOGGER.setLevel("ERROR")
        registered = registry.registration(id)
        task: Any = registered.task_class(**registered.fields)
        robots = [task.robot] if isinstance(task.robot, str) else [*task.robot]
        self._env = suite.make(
            _named(id),
            robots=robots,
            gripper_types=task.gripper,
            reward_shaping=task.reward_type == "dense",
            ignore_done=True,
            **dict.fromkeys(("has_renderer", "has_offscreen_renderer", "use_camera_obs"), False),
        )

    def start(self, seed: int) -> None:
        fresh = np.random.default_rng(seed)
        self._env.rng.bit_generator.state = fresh.bit_generator.state
        self._env.reset()
        sim = self._env.sim
        self.model, self.data = sim.model._model, sim.data._data
        self._recorded = RecordedModel(sim.model.get_xml())

    def step(self, action: np.ndarray) -> None:
        self._env.step(action)
        self._env.sim.forward()
        for _ in range(2):  # an entry that is computed from others reads their last values
            seen = self._env._get_observations(force_update=True)
        groups = ("proprio-state", "object-state", "joint_acc")
        self.observation = {n: x for n, x in seen.items() if not n.endswith(groups)}
        self.reward = float(self._env.reward(action))

    def matched(self, model: mujoco.MjModel, kind: str, *apart: str) -> list[tuple[int, int]]:
        return super().matched(model, kind, *apart, *(ROBOTS if kind == "geom" else ()))

    def state(self, env: Any) -> State:
        return self._recorded.state(env, self._env.sim.get_state().flatten())

    def drawn(self, env: Any) -> State:
        drawn, here = self._recorded.drawn(env), env.model
        for name, numbers in drawn.items():  # XML has fewer digits
            if name.startswith(("body_", "geom_")):
                for i, j in self.matched(here, name[:4], *self.apart, *ROBOTS):
                    numbers[i] = getattr(self.model, name)[j]
            elif name.startswith("dof_"):
                numbers[:] = getattr(self.model, name)
            elif name == "site_pos":  # markers, which are bodies there
                for i in (i for i in range(here.nsite) if here.site(i).name.startswith(MARKER)):
                    place = self.data.body(f"{here.site(i).name}_main").xpos
                    numbers[i] = place - env.data.xpos[here.site_bodyid[i]]
        return drawn


FAMILIES: dict[str, type[Published]] = {
    "dmc": OfSuite,
    "gymnasium": OfGymnasium,
    "locomotion": OfLocomotion,
    "manipulation": OfManipulation,
    "robosuite": OfRobosuite,
    "soccer": OfSoccer,
}
"""Published environments by the namespace of ours."""


def published_environment(id: str) -> Published:
    """Make the published environment of an id.

    Raises:
        VerificationError: there is none, or its package is not installed.
    """
    space = id.partition("/")[0]
    if space not in FAMILIES:
        raise VerificationError(
            f"{id}: nothing published runs beside it here, only beside {', '.join(FAMILIES)};"
            " its recorded data is replayed by the tests"
        )
    if reason := FAMILIES[space].lacks(id):
        raise VerificationError(f"{id} {reason}")
    try:
        return FAMILIES[space](id)
    except ImportError as error:
        raise VerificationError(f"{id}: {error}") from None


def ids_of_installed() -> list[str]:
    """The ids with a published environment whose package is installed."""
    kinds = {space: kind for space, kind in FAMILIES.items() if find_spec(kind.package)}
    spaces = {id: id.partition("/")[0] for id in registry.ids()}
    return [id for id, space in spaces.items() if space in kinds and not kinds[space].lacks(id)]
