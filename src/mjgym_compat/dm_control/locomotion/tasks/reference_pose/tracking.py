"""Tasks that follow recorded motion, or play it."""

import collections
from collections.abc import Callable, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.rotations import turn_between
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.mocap import loader
from mjgym_compat.dm_control.locomotion.tasks.reference_pose import rewards, utils
from mjgym_compat.dm_control.locomotion.tasks.reference_pose.datasets import DATASETS
from mjgym_compat.dm_control.locomotion.tasks.reference_pose.types import ClipCollection
from mjgym_compat.dm_control.locomotion.tasks.walking import WalkingTask
from mjgym_compat.dm_control.utils import transformations

DEFAULT_PHYSICS_TIMESTEP = 0.005  # s
_REFERENCE = "reference_"


class ReferencePosesTask(WalkingTask):
    """A walker beside recorded motion.

    Args:
        actuator_force_coeff: unused, as in the published tasks.
    """

    def __init__(
        self,
        walker: Callable[..., Any],
        arena: Any,
        ref_path: str,
        ref_steps: Sequence[int],
        dataset: str | ClipCollection,
        termination_error_threshold: float = 0.3,
        prop_termination_error_threshold: float = 0.1,
        min_steps: int = 10,
        reward_type: str = "termination_reward",
        physics_timestep: float = DEFAULT_PHYSICS_TIMESTEP,
        always_init_at_clip_start: bool = False,
        proto_modifier: Any = None,
        prop_factory: Callable[..., Any] | None = None,
        disable_props: bool = False,
        ghost_offset: Sequence[float] | None = None,
        body_error_multiplier: float = 1.0,
        actuator_force_coeff: float = 0.015,
        enabled_reference_observables: Sequence[str] | None = None,
    ) -> None:
        del actuator_force_coeff
        self._ref_steps = np.sort(ref_steps)
        self._max_ref_step = int(self._ref_steps[-1])
        self._min_steps = min_steps
        self._threshold = termination_error_threshold
        self._prop_threshold = prop_termination_error_threshold
        self._body_error_multiplier = body_error_multiplier
        self._always_init_at_clip_start = always_init_at_clip_start
        self._reward_fn = rewards.get_reward(reward_type)
        self._reward_keys = rewards.get_reward_channels(reward_type)
        self._ghost_offset = None if ghost_offset is None else np.asarray(ghost_offset)
        self._load(ref_path, proto_modifier, dataset)
        step = self._all_clips[0].dt
        super().__init__(walker(name="walker"), arena, physics_timestep, step)
        self._ghost = None
        if ghost_offset is not None:
            self._ghost = utils.add_walker(walker, arena, "ghost", ghost=True)
        self._add_props(None if disable_props else prop_factory)
        self._add_observables(enabled_reference_observables)
        self._possible_starts, self._start_probabilities = self._starts()
        self._begin(*self._possible_starts[0])
        self._walker_features = self._walker_features_prev = self._current_reference_features
        self._should_truncate = self._end_mocap = False
        self._reset_reward_channels()

    def _load(self, path: str, proto_modifier: Any, dataset: str | ClipCollection) -> None:
        if isinstance(dataset, str):
            if dataset not in DATASETS:
                raise ValueError(f"dataset: no {dataset!r}{or_else(dataset, DATASETS)}")
            dataset = DATASETS[dataset]
        self._dataset = dataset
        self._loader = loader.HDF5TrajectoryLoader(path, proto_modifier=proto_modifier or ())
        ends = dataset.end_steps or (None,) * len(dataset.ids)
        self._all_clips = [
            self._loader.get_trajectory(name, start_step=start, end_step=end)
            for name, start, end in zip(dataset.ids, dataset.start_steps, ends, strict=True)
        ]
        self._num_clips = len(self._all_clips)
        self._features = [_of_clip(clip) for clip in self._all_clips]

    def _add_props(self, factory: Callable[..., Any] | None) -> None:
        self._props: list[Any] = []
        self._ghost_props: list[Any] = []
        if factory is None:
            return
        self._props += self._all_clips[0].create_props(prop_factory=factory)
        if self._ghost is not None:
            self._ghost_props += self._all_clips[0].create_props(prop_factory=factory)
        for prop in self._props:
            prop.observables.enable_all()
        for prop in self._ghost_props:
            utils.fade(prop)
        for prop in (*self._props, *self._ghost_props):
            self._arena.add_free_entity(prop)

    def _starts(self) -> tuple[list[tuple[int, int]], np.ndarray]:
        """Pairs of a clip and its step at which episodes begin, and their probabilities."""
        pairs: list[tuple[int, int]] = []
        weights: list[float] = []
        for index, clip in enumerate(self._all_clips):
            last = clip.end_step - self._max_ref_step - self._min_steps
            steps = range(clip.start_step, max(last, clip.start_step + 1))
            steps = steps[:1] if self._always_init_at_clip_start else steps
            pairs += [(index, step) for step in steps]
            weights += [float(self._dataset.weights[index])] * len(steps)
        return pairs, np.array(weights) / sum(weights)

    @property
    def task_observables(self) -> dict[str, Any]:
        return self._task_observables

    # Observations.

    def _add_observables(self, enabled: Sequence[str] | None) -> None:
        own = self._walker.observables
        readings: dict[str, Callable[[Any], Any]] = {
            name.removeprefix("get_"): getattr(self, name)
            for name in (
                *("get_reference_rel_joints", "get_reference_rel_bodies_pos_global"),
                *("get_reference_rel_bodies_quats", "get_reference_rel_bodies_pos_local"),
                *("get_reference_ego_bodies_quats", "get_reference_rel_root_quat"),
                *("get_reference_rel_root_pos_local", "get_reference_appendages_pos"),
                "get_clip_id",
            )
        }
        readings |= {
            "velocimeter_control": self.get_veloc_control,
            "gyro_control": self.get_gyro_control,
            "joints_vel_control": self.get_joints_vel_control,
        }
        prefix = f"{self._walker.mjcf_model.model}/"
        for name, reading in readings.items():
            observed = enabled is None or not name.startswith(_REFERENCE)
            own.add_observable(
                name, observable.Generic(reading), observed or prefix + name in (enabled or ())
            )
        self._task_observables = {
            "reference_props_pos_global": observable.Generic(self.get_reference_props_pos_global),
            "reference_props_quat_global": observable.Generic(self.get_reference_props_quat_global),
        }
        for each in self._task_observables.values():
            each.enabled = True

    def _ahead(self, name: str) -> np.ndarray:
        """A feature of the reference in the observed steps, (steps, ...)."""
        rows = np.minimum(self._time_step + self._ref_steps, len(self._reference[name]) - 1)
        return np.asarray(self._reference[name][rows])

    def _local(self, physics: Any, vectors: np.ndarray) -> np.ndarray:
        """World vectors, (..., 3), in the root's frame, flattened."""
        rotation = np.array(physics.bind(self._walker.root_body).xmat).reshape(3, 3)
        local: np.ndarray = vectors @ rotation
        return local.ravel()

    def get_reference_rel_joints(self, physics: Any) -> np.ndarray:
        away = self._ahead("joints") - self._walker_features["joints"]
        return np.asarray(away[:, self._walker.mocap_to_observable_joint_order]).ravel()

    def _rel_bodies(self) -> np.ndarray:
        away: np.ndarray = self._ahead("body_positions") - self._walker_features["body_positions"]
        return away

    def get_reference_rel_bodies_pos_global(self, physics: Any) -> np.ndarray:
        return self._rel_bodies().ravel()

    def get_reference_rel_bodies_pos_local(self, physics: Any) -> np.ndarray:
        return self._local(physics, self._rel_bodies())

    def get_reference_rel_bodies_quats(self, physics: Any) -> np.ndarray:
        own = self._walker_features["body_quaternions"]
        return turn_between(own, self._ahead("body_quaternions")).ravel()

    def get_reference_ego_bodies_quats(self, unused_physics: Any) -> np.ndarray:
        bodies = self._ahead("body_quaternions")
        root = np.broadcast_to(self._ahead("quaternion")[:, None], bodies.shape)
        return transformations.quat_diff(root, bodies).ravel()

    def get_reference_rel_root_quat(self, physics: Any) -> np.ndarray:
        own = self._walker_features["quaternion"]
        return turn_between(own, self._ahead("quaternion")).ravel()

    def get_reference_rel_root_pos_local(self, physics: Any) -> np.ndarray:
        return self._local(physics, self._ahead("position") - self._walker_features["position"])

    def get_reference_appendages_pos(self, physics: Any) -> np.ndarray:
        return self._ahead("appendages").ravel()

    def _props_ahead(self, name: str) -> np.ndarray:
        """A feature of the reference's props in the observed steps, flat."""
        return self._ahead(f"prop_{name}").ravel() if self._props else np.zeros(0)

    def get_reference_props_pos_global(self, physics: Any) -> np.ndarray:
        return self._props_ahead("positions")

    def get_reference_props_quat_global(self, physics: Any) -> np.ndarray:
        return self._props_ahead("quaternions")

    def get_veloc_control(self, physics: Any) -> np.ndarray:
        before, now = self._walker_features_prev, self._walker_features
        moved = (now["position"] - before["position"]) / self._control_timestep
        return transformations.quat_rotate(transformations.quat_conj(before["quaternion"]), moved)

    def get_gyro_control(self, physics: Any) -> np.ndarray:
        before, now = self._walker_features_prev, self._walker_features
        turn = transformations.quat_diff(before["quaternion"], now["quaternion"])
        return transformations.quat_to_axisangle(turn) / self._control_timestep

    def get_joints_vel_control(self, physics: Any) -> np.ndarray:
        moved = self._walker_features["joints"] - self._walker_features_prev["joints"]
        order = self._walker.mocap_to_observable_joint_order
        return np.asarray(moved[order]) / self._control_timestep

    def get_clip_id(self, physics: Any) -> np.ndarray:
        return np.array([self._current_clip_index])

    def get_all_reference_observations(self, physics: Any) -> dict[str, Any]:
        observables = self._walker.observables.as_dict(fully_qualified=False)
        return {
            f"{self._walker.mjcf_model.model}/{name}": each(physics)
            for name, each in observables.items()
            if name.startswith(_REFERENCE)
        }

    # Course of an episode.

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        self._arena.regenerate(random_state)
        self._draw(random_state)
        fresh = self._current_clip.create_props() if self._props else ()
        for prop, other in zip(self._props, fresh, strict=False):
            prop.update_with_new_prop(other)
        for prop, other in zip(self._ghost_props, fresh, strict=False):
            prop.update_with_new_prop(other)
            utils.fade(prop)

    def _draw(self, random_state: np.random.RandomState) -> None:
        drawn = random_state.choice(len(self._possible_starts), p=self._start_probabilities)
        self._begin(*self._possible_starts[drawn])

    def _begin(self, index: int, step: int) -> None:
        self._current_clip_index = index
        self._current_clip = self._all_clips[self._current_clip_index]
        self._reference = self._features[self._current_clip_index]
        self._time_step = step - self._current_clip.start_step
        self._current_start_time = self._time_step * self._current_clip.dt
        self._last_step = len(self._reference["joints"]) - self._max_ref_step - 1
        sizes = {
            "joints": len(self._walker.mocap_joints),
            "body_positions": len(self._walker.mocap_tracking_bodies),
        }
        for name, size in sizes.items():
            recorded = self._reference[name].shape[1]
            if recorded != size:
                raise ValueError(
                    f"proto/walker: the clip {self._current_clip.identifier!r} has {recorded}"
                    f" {name}, the walker {size}"
                )

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        """Set the walker, the props and the ghost to the reference."""
        self.set_timesteps(self._current_clip.dt, self.physics_timestep)
        self._should_truncate = self._end_mocap = False
        self._reset_reward_channels()
        self._set_walker(physics)
        if self._props:
            utils.set_props_from_features(physics, self._props, self._current_reference_features)
        self._update_ghost(physics)
        mujoco.mj_forward(physics.model.ptr, physics.data.ptr)
        self._walker_features = utils.get_features(physics, self._walker, self._props)
        self._walker_features_prev = self._walker_features
        self._compute_termination_error()
        if self._termination_error > 1e-2:
            raise ValueError(
                f"proto/walker: in the state of the clip {self._current_clip.identifier!r} the"
                f" walker's bodies are {self._termination_error:.3g} off: it is recorded with"
                " another walker"
            )

    @property
    def _current_reference_features(self) -> dict[str, np.ndarray]:
        step = min(self._time_step, len(self._reference["joints"]) - 1)
        return {name: values[step] for name, values in self._reference.items()}

    def _set_walker(self, physics: Any) -> None:
        utils.set_walker_from_features(physics, self._walker, self._current_reference_features)

    def _update_ghost(self, physics: Any) -> None:
        if self._ghost is None:
            return
        reference = self._current_reference_features
        utils.set_walker_from_features(physics, self._ghost, reference, self._ghost_offset)
        if self._ghost_props:
            utils.set_props_from_features(physics, self._ghost_props, reference, self._ghost_offset)

    def before_step(self, physics: Any, action: Any, random_state: np.random.RandomState) -> None:
        self._walker.apply_action(physics, action, random_state)

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._time_step += 1
        self._update_ghost(physics)
        self._walker_features_prev = self._walker_features
        self._walker_features = utils.get_features(physics, self._walker, self._props)
        self._compute_termination_error()
        self._should_truncate = (
            self._termination_error > self._threshold
            or self._prop_termination_error > self._prop_threshold
        )
        self._end_mocap = self._time_step == self._last_step

    def _compute_termination_error(self) -> None:
        reference, own = self._current_reference_features, self._walker_features

        def mean(name: str) -> float:
            return float(np.mean(np.abs(reference[name] - own[name])))

        bodies = self._body_error_multiplier * mean("body_positions")
        self._termination_error = 0.5 * bodies + 0.5 * mean("joints")
        self._prop_termination_error = mean("prop_positions") if self._props else 0.0

    # Outcome.

    def _reset_reward_channels(self) -> None:
        self.last_reward_channels = collections.OrderedDict.fromkeys(self._reward_keys, 0.0)

    def get_reward(self, physics: Any) -> float:
        """The reward of `reward_type`."""
        outcome = self._reward_fn(
            termination_error=self._termination_error,
            termination_error_threshold=self._threshold,
            reference_features=self._current_reference_features,
            walker_features=self._walker_features,
        )
        self.last_reward_channels.update(outcome.reward_terms or {})
        return float(outcome.reward)

    def should_terminate_episode(self, physics: Any) -> bool:
        return self._should_truncate or self._end_mocap

    def get_discount(self, physics: Any) -> float:
        """0 if the deviation is too large."""
        return 0.0 if self._should_truncate else 1.0

    def action_spec(self, physics: Any) -> Any:
        spec = self._walker.action_spec
        prefix = f"{self._walker.mjcf_model.model}/"
        names = "\t".join(prefix + name for name in spec.name.split("\t"))
        return spec.replace(name=names)


class MultiClipMocapTracking(ReferencePosesTask):
    """A walker follows clips; props are left out by default."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"disable_props": True, **kwargs})
        time = observable.Generic(self.get_normalized_time_in_clip)
        self._walker.observables.add_observable("time_in_clip", time)

    def get_normalized_time_in_clip(self, physics: Any) -> np.ndarray:
        passed = self._current_start_time + physics.time()
        return np.array([passed / self._current_clip.duration])


class PlaybackTask(ReferencePosesTask):
    """A walker is carried along clips, one after the other."""

    def __init__(
        self,
        walker: Callable[..., Any],
        arena: Any,
        ref_path: str,
        dataset: str | ClipCollection,
        proto_modifier: Any = None,
        physics_timestep: float = DEFAULT_PHYSICS_TIMESTEP,
    ) -> None:
        super().__init__(
            walker, arena, ref_path, (1,), dataset, termination_error_threshold=np.inf,
            physics_timestep=physics_timestep, proto_modifier=proto_modifier, min_steps=1,
            always_init_at_clip_start=True, disable_props=True,
        )  # fmt: skip
        self._next_clip = 0

    def _draw(self, random_state: np.random.RandomState) -> None:
        self._begin(*self._possible_starts[self._next_clip])
        self._next_clip = (self._next_clip + 1) % self._num_clips

    def after_step(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().after_step(physics, random_state)
        self._set_walker(physics)

    def get_reward(self, physics: Any) -> float:
        return 0.0


def _of_clip(clip: Any) -> dict[str, np.ndarray]:
    arrays = clip.as_dict()
    features = {
        name.removeprefix("walker/"): values
        for name, values in arrays.items()
        if name.startswith("walker/")
    }
    props = [name.partition("/")[0] for name in arrays if name.endswith("/position")]
    props = [name for name in props if name.startswith("prop")]
    if props:
        for field, many in (("position", "positions"), ("quaternion", "quaternions")):
            features[f"prop_{many}"] = np.stack([arrays[f"{p}/{field}"] for p in props], axis=1)
    return features
