"""Touch an orb twice, a set interval apart."""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.tasks.walking import WalkingTask

DEFAULT_ALIVE_THRESHOLD = -0.5
DEFAULT_PHYSICS_TIMESTEP = 0.005  # s
DEFAULT_CONTROL_TIMESTEP = 0.03  # s
NEAR = 0.25  # reward for a hand at the orb's centre
STEEPNESS = 3.0  # 1/m, decay with the distance


class TwoTouchState(enum.IntEnum):
    """States of the task."""

    PRE_TOUCH = 0
    TOUCHED_ONCE = 1
    TOUCHED_TWICE = 2
    TOUCHED_TOO_SOON = 3
    NO_SECOND_TOUCH = 4


_OVER = (
    TwoTouchState.TOUCHED_TWICE, TwoTouchState.TOUCHED_TOO_SOON, TwoTouchState.NO_SECOND_TOUCH,
)  # fmt: skip


class TwoTouch(WalkingTask):
    """A walker touches an orb with a hand, and again after an interval; then there is a new orb.

    Args:
        rotation_bias_factor: not used.
    """

    def __init__(
        self,
        walker: Any,
        arena: Any,
        target_builders: Sequence[Callable[..., Any]],
        target_type_rewards: Sequence[float],
        shuffle_target_builders: bool = False,
        randomize_spawn_position: bool = False,
        randomize_spawn_rotation: bool = True,
        rotation_bias_factor: float = 0,
        aliveness_reward: float = 0.0,
        touch_interval: float = 0.8,
        interval_tolerance: float = 0.1,
        failure_timeout: float = 1.2,
        reset_delay: float = 0.0,
        z_height: float = 0.14,
        target_area: Any = (),
        physics_timestep: float = DEFAULT_PHYSICS_TIMESTEP,
        control_timestep: float = DEFAULT_CONTROL_TIMESTEP,
    ) -> None:
        super().__init__(walker, arena, physics_timestep, control_timestep)
        walker.observables.egocentric_camera.enabled = True
        self._area = np.asarray(target_area if len(target_area) else np.asarray(arena.size) / 2)
        self._values, self._shuffles = list(target_type_rewards), shuffle_target_builders
        self._places, self._turns = randomize_spawn_position, randomize_spawn_rotation
        self._alive, self._height = aliveness_reward, z_height
        self._soonest = touch_interval - interval_tolerance
        self._latest = touch_interval + interval_tolerance
        self._pauses = dict.fromkeys(_OVER, failure_timeout)
        self._pauses[TwoTouchState.TOUCHED_TWICE] = reset_delay
        self._targets = [make(name=f"target_{k}") for k, make in enumerate(target_builders)]
        for target in self._targets:
            arena.attach(target)
        hands = getattr(walker, "hands", None) or walker.end_effectors
        self._hands = tuple(hands)
        self._state, self._since = TwoTouchState.PRE_TOUCH, 0.0
        self._observed = TwoTouchState.PRE_TOUCH
        logic = observable.Generic(lambda physics: np.array([float(self._observed)]))
        logic.enabled = True
        self._task_observables = {"task_logic": logic}

    @property
    def task_observables(self) -> dict[str, Any]:
        return self._task_observables

    def after_compile(self, physics: Any, random_state: np.random.RandomState) -> None:
        geoms = [geom for hand in self._hands for geom in hand.find_all("geom")]
        ids = frozenset(np.ravel(physics.bind(geoms).element_id))
        for target in self._targets:
            target.touching_ids = ids

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        super().initialize_episode(physics, random_state)
        place = random_state.uniform(-self._area, self._area) if self._places else (0.0, 0.0)
        angle = random_state.uniform(0, 2 * np.pi) if self._turns else None
        self.spawn(physics, random_state, (*place, 0.0), angle)
        if self._shuffles:
            random_state.shuffle(self._values)
        self._renew(physics, random_state)
        self._observed = self._state

    def _renew(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._state = TwoTouchState.PRE_TOUCH
        for target in self._targets:
            target.reset(physics)
            x, y = random_state.uniform(-self._area, self._area)
            height = self._height - float(np.ravel(target.geom.pos)[2])
            target.set_pose(physics, (x, y, height))

    def before_step(self, physics: Any, action: Any, random_state: np.random.RandomState) -> None:
        super().before_step(physics, action, random_state)
        pause = self._pauses.get(self._state)
        if pause is not None and physics.time() > self._since + pause:
            self._renew(physics, random_state)

    def get_reward(self, physics: Any) -> float:
        """The proximity of a hand plus the value of touches."""
        self._observed, now, reward = self._state, physics.time(), self._alive
        hands = np.array(physics.bind(self._hands).xpos)
        for target, value in zip(self._targets, self._values, strict=True):
            once, twice = target.activated
            if self._state is TwoTouchState.PRE_TOUCH and once:
                self._become(TwoTouchState.TOUCHED_ONCE, now)
                reward += value
            elif self._state is TwoTouchState.TOUCHED_ONCE:
                waited = now - self._since
                if twice and waited < self._soonest:
                    self._become(TwoTouchState.TOUCHED_TOO_SOON, now)
                elif waited > self._latest:
                    self._become(TwoTouchState.NO_SECOND_TOUCH, now)
                elif twice:
                    self._become(TwoTouchState.TOUCHED_TWICE, now)
                    reward += value
            away = np.min(np.sum(abs(hands - physics.bind(target.geom).xpos), axis=-1))
            reward += NEAR * np.exp(-STEEPNESS * away)
        return float(reward)

    def _become(self, state: TwoTouchState, now: float) -> None:
        self._state, self._since = state, now

    def get_discount(self, physics: Any) -> float:
        return 1.0
