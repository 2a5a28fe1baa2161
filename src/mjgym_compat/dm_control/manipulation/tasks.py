"""The published manipulation tasks on Composer, for custom entities."""

import itertools
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from mjgym.rewards import tolerance
from mjgym.tasks.manipulation import bricks, lift_prop, place, reach
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define, initializers
from mjgym_compat.dm_control.composer.observation.observable import Generic, MJCFFeature
from mjgym_compat.dm_control.composer.variation import distributions, evaluate
from mjgym_compat.dm_control.entities import props
from mjgym_compat.dm_control.manipulation import shared

_COLOURS = (shared.RED, shared.GREEN, shared.BLUE, shared.CYAN, shared.MAGENTA, shared.YELLOW)


def _is_within(distance: Any, radius: float, **options: Any) -> float:
    return float(tolerance(np.asarray(distance), (0, radius), margin=radius, **options))


class ArmTask(composer.Task):
    """A task of an arm with a hand over a work top."""

    def __init__(
        self,
        arena: Any,
        arm: Any,
        hand: Any,
        obs_settings: shared.ObservationSettings,
        workspace: Any,
        control_timestep: float,
    ) -> None:
        self._arena, self.arm, self.hand = arena, arm, hand
        arm.attach(hand)
        arena.attach_offset(arm, offset=workspace.arm_offset)
        self.control_timestep = control_timestep
        self._task_observables: dict[str, Any] = dict(
            shared.add_camera_observables(arena, obs_settings, shared.FRONT_CLOSE)
        )
        self._tcp_initializer = initializers.ToolCenterPointInitializer(
            hand,
            arm,
            position=distributions.Uniform(*workspace.tcp_bbox),
            quaternion=shared.DOWN_QUATERNION,
        )
        colours = {"tcp": shared.GREEN, "prop": shared.BLUE, "target": shared.CYAN}
        for name, rgba in colours.items():
            if (box := getattr(workspace, f"{name}_bbox", None)) is not None:
                body = arena.mjcf_model.worldbody
                shared.add_bbox_site(body, *box, rgba=rgba, name=f"{name}_spawn_area")

    @property
    def root_entity(self) -> Any:
        return self._arena

    @property
    def task_observables(self) -> dict[str, Any]:
        return self._task_observables

    def _observe(self, name: str, observable: Any, settings: shared.ObservationSettings) -> None:
        observable.configure(**settings.prop_pose._asdict())
        self._task_observables[name] = observable

    def _draw_hand(self, physics: Any, random_state: np.random.RandomState) -> None:
        self.hand.set_grasp(physics, close_factors=random_state.uniform())
        self._tcp_initializer(physics, random_state)

    def _tool(self, physics: Any) -> np.ndarray:
        return np.array(physics.bind(self.hand.tool_center_point).xpos)


class _PropTask(ArmTask):
    def __init__(
        self,
        arena: Any,
        arm: Any,
        hand: Any,
        prop: Any,
        obs_settings: shared.ObservationSettings,
        workspace: Any,
        control_timestep: float,
    ) -> None:
        super().__init__(arena, arm, hand, obs_settings, workspace, control_timestep)
        self._prop = prop
        self._furnish(arena, prop, obs_settings, workspace)

    def _furnish(
        self, arena: Any, prop: Any, settings: shared.ObservationSettings, workspace: Any
    ) -> None:
        raise NotImplementedError

    def _placer(self, prop: Any, box: Any, turned: bool = True, **options: Any) -> Any:
        if turned:
            options |= {"quaternion": shared.uniform_z_rotation, "settle_physics": True}
        return initializers.PropPlacer([prop], distributions.Uniform(*box), **options)


class Reach(_PropTask):
    """Bring the hand to `prop`, or with None to a place."""

    def _furnish(
        self, arena: Any, prop: Any, settings: shared.ObservationSettings, workspace: Any
    ) -> None:
        self._place = distributions.Uniform(*workspace.target_bbox)
        marked = arena if prop is None else prop
        site = shared.add_target_site(
            marked.mjcf_model.worldbody,
            reach.RADIUS,
            visible=prop is None,
            rgba=shared.RED,
            name=reach.TARGET,
        )
        if prop is None:
            self._target = site
            self._observe("target_position", MJCFFeature("pos", site), settings)
            return
        self._target = arena.add_free_entity(prop)
        self._place_prop = self._placer(prop, workspace.target_bbox)

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._draw_hand(physics, random_state)
        if self._prop is None:
            physics.bind(self._target).pos = self._place(random_state=random_state)
        else:
            self._place_prop(physics, random_state)

    def get_reward(self, physics: Any) -> float:
        """1 within 5 cm of the target, and 0.1 at 10 cm."""
        between = self._tool(physics) - physics.bind(self._target).xpos
        return _is_within(np.linalg.norm(between), reach.RADIUS)


class _VertexSites:
    """Corners of a box as sites, which `Lift` measures."""

    vertices: list[mjcf.Element]

    def _mark(self, box: Any) -> None:
        centre = np.zeros(3) if box.pos is None else box.pos
        self.vertices = [
            box.parent.add(
                "site", name=f"vertex_{i}", pos=centre + np.multiply(sign, box.size),
                size=[0.002], rgba=shared.RED, group=shared.TASK_SITE_GROUP,
            )
            for i, sign in enumerate(itertools.product((-1, 1), repeat=3))
        ]  # fmt: skip


class _BoxWithVertexSites(props.Primitive, _VertexSites):
    def _build(self, *args: Any, **kwargs: Any) -> None:
        super()._build("box", *args, **kwargs)
        self._mark(self.geom)


class _DuploWithVertexSites(props.Duplo, _VertexSites):
    def _build(self, *args: Any, **kwargs: Any) -> None:
        super()._build(*args, **kwargs)
        self._mark(self.mjcf_model.find("site", "bounding_box"))


class Lift(_PropTask):
    """Lift `prop`, whose `vertices` are sites."""

    def _furnish(
        self, arena: Any, prop: Any, settings: shared.ObservationSettings, workspace: Any
    ) -> None:
        self._wanted = inf
        arena.add_free_entity(prop)
        self._place_prop = self._placer(prop, workspace.prop_bbox, ignore_collisions=True)
        body = arena.mjcf_model.worldbody
        self._line = shared.add_bbox_site(
            body, (-1, -1, 0), (1, 1, 0), rgba=shared.RED, name=lift_prop.TARGET
        )

    def _height(self, physics: Any) -> float:
        return float(physics.bind(self._prop.vertices).xpos[:, 2].min())

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self.hand.set_grasp(physics, close_factors=random_state.uniform())
        self._place_prop(physics, random_state)
        self._tcp_initializer(physics, random_state)
        self._wanted = self._height(physics) + lift_prop.LIFT
        physics.bind(self._line).pos[2] = self._wanted

    def get_reward(self, physics: Any) -> float:
        """Rise of the lowest corner as a fraction of 30 cm."""
        height, bounds = np.asarray(self._height(physics)), (self._wanted, inf)
        linear: dict[str, Any] = {"sigmoid": "linear", "value_at_margin": 0.0}
        return float(tolerance(height, bounds, margin=lift_prop.LIFT, **linear))


class SphereCradle(composer.Entity):
    """Three balls that hold an object laid between them."""

    def _build(self) -> None:
        self._mjcf_root = shared.model("cradle")


class Pedestal(composer.Entity):
    """A post that carries a cradle.

    Attributes:
        target_site: sphere that shows the target.
    """

    def _build(self, cradle: composer.Entity, target_radius: float) -> None:
        self._mjcf_root = shared.model("pedestal")
        sphere: Any = self._mjcf_root.find("site", "target_sphere")
        sphere.size = [target_radius]
        self.target_site = sphere
        self.attach(cradle, self._mjcf_root.find("site", "target"))

    def _build_observables(self) -> "PedestalObservables":
        return PedestalObservables(self)


class PedestalObservables(composer.Observables):
    """Observables of a pedestal."""

    position = define.feature("xpos", "target_site")


class Place(_PropTask):
    """Place a prop on a cradle on a pedestal, and let go."""

    def __init__(self, *args: Any, cradle: Any, **kwargs: Any) -> None:
        self._cradle = cradle
        super().__init__(*args, **kwargs)

    def _furnish(
        self, arena: Any, prop: Any, settings: shared.ObservationSettings, workspace: Any
    ) -> None:
        self._frame = arena.add_free_entity(prop)
        self._pedestal = Pedestal(cradle=self._cradle, target_radius=place.CLOSE)
        arena.attach(self._pedestal)
        for seen in self._pedestal.observables.as_dict().values():
            seen.configure(**settings.prop_pose._asdict())
        self._place_prop = self._placer(
            prop, workspace.prop_bbox, max_attempts_per_prop=place.ATTEMPTS
        )
        self._place_pedestal = self._placer(self._pedestal, workspace.target_bbox, turned=False)

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._place_pedestal(physics, random_state, ignore_contacts_with_entities=[self._prop])
        self._draw_hand(physics, random_state)
        self._place_prop(physics, random_state)

    def get_reward(self, physics: Any) -> float:
        """Reward for grasping, then placing and releasing, as in the registered task."""
        tool, prop = self._tool(physics), physics.bind(self._frame).xpos
        target = physics.bind(self._pedestal.target_site).xpos

        def together(a: np.ndarray, b: np.ndarray) -> float:
            return _is_within(np.linalg.norm(a - b), place.CLOSE, sigmoid="long_tail")

        away = tolerance(
            np.linalg.norm(tool - target),
            (place.AWAY, inf),
            margin=place.AWAY_MARGIN,
            sigmoid="long_tail",
        )
        terms = {"grasp": together(prop, tool), "placed": together(prop, target), "away": away}
        return float(place.Place().reward(terms))


class _BrickTask(ArmTask):
    """Bricks that should become a stack."""

    _close_weight = bricks.CLOSE_WEIGHT

    def __init__(
        self,
        arena: Any,
        arm: Any,
        hand: Any,
        num_bricks: int,
        obs_settings: shared.ObservationSettings,
        workspace: Any,
        control_timestep: float,
    ) -> None:
        if not 2 <= num_bricks <= len(_COLOURS):
            raise ValueError(f"num_bricks: must be between 2 and {len(_COLOURS)}, got {num_bricks}")
        super().__init__(arena, arm, hand, obs_settings, workspace, control_timestep)
        options = shared.make_options(obs_settings, shared.FREEPROP_OBSERVABLES)
        self._bricks, self._frames, self._hints = [], [], []
        for rgba in _COLOURS[:num_bricks]:
            brick = props.Duplo(color=rgba[:3], observable_options=options)
            self._bricks.append(brick)
            self._frames.append(arena.add_free_entity(brick))
            hint = props.Duplo(color=rgba[:3])
            plastic: Any = hint.mjcf_model.find("material", bricks.PLASTIC)
            plastic.rgba[3] = bricks.HINT_ALPHA
            for geom in hint.mjcf_model.find_all("geom"):
                geom.contype = geom.conaffinity = 0
            self._hints.append(hint)
            arena.attach(hint)
        self._hint_pose = workspace.goal_hint_pos, workspace.goal_hint_quat
        self._prop_bbox = distributions.Uniform(*workspace.prop_bbox)
        self._desired_order, self._settings = np.arange(num_bricks), obs_settings

    def _observe_order(self) -> None:
        seen = Generic(lambda physics: self._desired_order.astype(float))
        self._observe("desired_order", seen, self._settings)

    def _fix(self, fixed: Sequence[int]) -> None:
        for i, frame in enumerate(self._frames):
            if i in fixed and frame.freejoint is not None:
                frame.freejoint.remove()
            elif i not in fixed and frame.freejoint is None:
                frame.add("freejoint")

    def _pile(
        self,
        physics: Any,
        random_state: np.random.RandomState,
        entities: Any,
        pose: Any,
        order: Any,
    ) -> None:
        pos, quat = evaluate(pose, random_state=random_state)
        turns = random_state.rand(len(order) - 1) < 0.5
        for i, *at in zip(order, *bricks.stack_poses(pos, quat, turns), strict=True):
            entities[i].set_pose(physics, *at)

    def _show_goal(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._pile(physics, random_state, self._hints, self._hint_pose, self._desired_order)

    def get_reward(self, physics: Any) -> float:
        """Mean over neighbouring bricks of being close and snapped together."""
        wanted = [self._bricks[i] for i in self._desired_order]
        corners = [0, -1], [0, -1]
        studs = np.stack([physics.bind(brick.studs[corners]).xpos for brick in wanted[:-1]])
        holes = np.stack([physics.bind(brick.holes[corners]).xpos for brick in wanted[1:]])
        terms = bricks.pair_terms(
            bricks.pair_distance(studs, holes), close_too=self._close_weight > 0
        )
        return float(bricks.pairs_reward(terms))


class Stack(_BrickTask):
    """Stack bricks."""

    def __init__(
        self,
        *args: Any,
        target_height: int,
        moveable_base: bool,
        randomize_order: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        count = len(self._bricks)
        if not 2 <= target_height <= count:
            raise ValueError(f"target_height: must be between 2 and {count}, got {target_height}")
        self._free, self._random, self._height = moveable_base, randomize_order, target_height
        self._desired_order = np.arange(target_height)
        self._placer = initializers.PropPlacer(
            self._bricks, self._prop_bbox, shared.uniform_z_rotation, settle_physics=True
        )
        if randomize_order:
            self._observe_order()

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        if self._random:
            count = len(self._bricks)
            self._desired_order = random_state.choice(count, self._height, replace=False)
        self._fix([] if self._free else [self._desired_order[0]])

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._placer(physics, random_state)
        self._draw_hand(physics, random_state)
        self._show_goal(physics, random_state)


class Reassemble(_BrickTask):
    """Take a stack apart and build it in another order."""

    _close_weight = 0.0

    def __init__(
        self,
        *args: Any,
        randomize_initial_order: bool,
        randomize_desired_order: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._draws_start, self._draws_goal = randomize_initial_order, randomize_desired_order
        self._initial_order = np.arange(len(self._bricks))
        if randomize_desired_order:
            self._observe_order()

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        if self._draws_start:
            random_state.shuffle(self._initial_order)
        lowest, *above = self._initial_order
        above.reverse()
        if self._draws_goal:
            random_state.shuffle(above)
        self._desired_order = np.array([lowest, *above])
        self._fix([int(lowest)])

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        pose = self._prop_bbox, shared.uniform_z_rotation
        self._pile(physics, random_state, self._bricks, pose, self._initial_order)
        self._show_goal(physics, random_state)
        self._draw_hand(physics, random_state)
