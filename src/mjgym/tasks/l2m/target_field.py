"""Field of target velocities for "Learn to Move" walkers.

A map of velocities, 40 m by 40 m, is centred on the walker's position at its creation, with a
velocity at every half metre; it is bilinear in between, and constant beyond its edge. All its
velocities lead to its sink, a place to stay at. A walker that has stayed there for long enough gets
a new sink, and a new map.

S. Song et al., "Deep reinforcement learning for modeling human locomotion control in
neuromechanical simulation" (2021, doi 10.1186/s12984-021-00919-y), section "Learn to Move".
"""

import math
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, drawn_row, namespace, total
from mjgym.task import Arrays

REACH = 20.0  # m, from the middle of a map to its edges
SPACING = 0.5  # m, grid spacing of the map
CELLS = round(2 * REACH / SPACING)  # along an edge

SEEN = 11  # observed points along each axis
SEEN_SPACING = 1.0  # m between them; the publication says 0.5 m, its program uses 1 m

FORWARD_SPEED = 1.4  # m/s, of the constant field
SLOWEST, FASTEST = 0.8, 1.8  # m/s, on the way to a sink
BEYOND = 1.0  # m, further from the sink than the map's centre, where the speed reaches FASTEST
ROUNDING = 1e-9  # m
SLOWING = 1.0  # m from the sink, within which the speed falls to zero

NEAREST_SINK, FARTHEST_SINK = 5.0, 7.0  # m, from the walker
SINK_RADIUS = 0.3  # m, within which a walker is at a sink
SHORTEST_STAY, LONGEST_STAY = 2.0, 4.0  # s, uninterrupted

# rad, by version: largest turn to either side towards the next sink.
TURNS = {1: 0.0, 2: math.pi / 2, 3: math.pi}
SINKS = {1: 32, 2: 32, 3: 2}  # per episode, by version
LAST_SINK = {3: 2}  # by version: index of the last sink
DRAWS = 4  # random numbers per sink


@dataclass(frozen=True)
class TargetField:
    """Field of target velocities, for one walker or many.

    Its state is a dict of arrays with any leading shape, to be kept between control steps.
    Positions are (..., 2) m, forward and leftward in the world; poses add the heading (rad,
    positive leftward).

    Raises:
        ValueError: there is no such version.
    """

    # 0 for the constant velocity of 1.4 m/s forward; 1 for endless sinks straight ahead, 2 for
    # endless sinks with turns of up to 90 degrees; 3 for two sinks with turns of up to 180 degrees
    version: int

    def __post_init__(self) -> None:
        if self.version not in (0, *TURNS):
            raise ValueError(f"difficulty: expected 0, 1, 2 or 3, got {self.version!r}")

    @property
    def draws(self) -> int:
        """Number of draws per episode, uniform in [0, 1)."""
        return DRAWS * SINKS.get(self.version, 0)

    def start(self, draws: Array, position: Array) -> Arrays:
        """Initial state of an episode: a map around a position, and its sink.

        Args:
            draws: (..., `draws`), uniform in [0, 1).
            position: (..., 2) m.
        """
        if not self.version:
            return {}
        xp = namespace(position)
        nothing = xp.zeros_like(position[..., 0])
        return self._sink(draws, nothing, position, nothing)

    def _sink(self, draws: Array, number: Array, position: Array, heading: Array) -> Arrays:
        """State with a new sink, the next after `number`, and no progress.

        The map is centred on the position; the heading (rad) is that of the path so far.
        """
        xp = namespace(position)
        drawn = drawn_row(draws, DRAWS, number)
        heading = heading + TURNS[self.version] * (2 * drawn[..., 1] - 1)
        distance = NEAREST_SINK + (FARTHEST_SINK - NEAREST_SINK) * drawn[..., 0]
        direction = xp.stack([xp.cos(heading), xp.sin(heading)], axis=-1)
        return {
            "map_centre": position,
            "sink": position + distance[..., None] * direction,
            "sink_distance": distance,  # m, from the map's centre
            "path_heading": heading,
            "phase": 2 * math.pi * drawn[..., 2],  # rad, phase of the speed at the sink
            "stay": SHORTEST_STAY + (LONGEST_STAY - SHORTEST_STAY) * drawn[..., 3],  # s
            "stayed": xp.zeros_like(number),  # s, uninterrupted
            "sinks_achieved": number,
        }

    def advance(self, state: Arrays, draws: Array, position: Array, timestep: float) -> Arrays:
        """State a control step (s) later, with the walker at a position, (..., 2) m."""
        if not self.version:
            return {}
        xp = namespace(position)
        away = state["sink"] - position
        near = total(away * away) < SINK_RADIUS**2
        stayed = xp.where(near, state["stayed"] + timestep, xp.zeros_like(state["stayed"]))
        achieved = stayed >= state["stay"]
        last = LAST_SINK.get(self.version)
        number = state["sinks_achieved"]
        if last is not None:
            achieved = achieved & (number < last)
        number = xp.where(achieved, number + 1, number)
        renewed = achieved if last is None else achieved & (number < last)
        new = self._sink(draws, number, position, state["path_heading"])
        old = {**state, "stayed": stayed, "sinks_achieved": number}
        return {
            name: xp.where(renewed if x.ndim == renewed.ndim else renewed[..., None], x, old[name])
            for name, x in new.items()
        }

    def velocity(self, state: Arrays, points: Array) -> Array:
        """Target velocity at points, (..., k, 2) m/s in the world for (..., k, 2) m."""
        xp = namespace(points)
        if not self.version:
            return xp.stack(
                [xp.full_like(points[..., 0], FORWARD_SPEED), xp.zeros_like(points[..., 0])],
                axis=-1,
            )
        edge = state["map_centre"][..., None, :] - REACH
        place = xp.clip((points - edge) / SPACING, 0.0, float(CELLS))
        cell = xp.minimum(xp.floor(place), xp.full_like(place, CELLS - 1.0))
        share = place - cell
        # From the four corners of the points' cells, along x and y, to the sink.
        first = state["sink"][..., None, :] - (edge + SPACING * cell)
        second = first - SPACING
        beyond = state["sink_distance"][..., None]
        phase = state["phase"][..., None]
        x, y = first[..., 0], first[..., 1]
        right, top = second[..., 0], second[..., 1]
        along, across = share[..., 0], share[..., 1]
        # A corner's velocity is along the vector to the sink: the rest of it is its weight.
        weights = [
            (1 - along) * (1 - across) * _pace(x, y, beyond, phase),
            along * (1 - across) * _pace(right, y, beyond, phase),
            (1 - along) * across * _pace(x, top, beyond, phase),
            along * across * _pace(right, top, beyond, phase),
        ]
        forward = x * (weights[0] + weights[2]) + right * (weights[1] + weights[3])
        leftward = y * (weights[0] + weights[1]) + top * (weights[2] + weights[3])
        return xp.stack([forward, leftward], axis=-1)

    def seen(self, state: Arrays, pose: Array) -> Array:
        """Field around a walker in its axes, (..., 2, 11, 11) m/s.

        The first axis is the velocity's component, forward and leftward; the second spans points
        from 5 m behind to 5 m ahead, the third from 5 m on the right to 5 m on the left.

        Args:
            pose: (..., 3).
        """
        xp: Any = namespace(pose)
        offsets = (xp.arange(float(SEEN)) - SEEN // 2) * SEEN_SPACING
        ahead = xp.reshape(xp.broadcast_to(offsets[:, None], (SEEN, SEEN)), (-1,))
        aside = xp.reshape(xp.broadcast_to(offsets[None, :], (SEEN, SEEN)), (-1,))
        cosine = xp.cos(pose[..., 2])[..., None]
        sine = xp.sin(pose[..., 2])[..., None]
        points = xp.stack(
            [
                pose[..., 0:1] + cosine * ahead - sine * aside,
                pose[..., 1:2] + sine * ahead + cosine * aside,
            ],
            axis=-1,
        )
        velocity = self.velocity(state, points)
        forward, leftward = velocity[..., 0], velocity[..., 1]
        velocities = xp.stack(
            [cosine * forward + sine * leftward, cosine * leftward - sine * forward], axis=-2
        )
        return xp.reshape(velocities, (*velocities.shape[:-1], SEEN, SEEN))


def _pace(x: Array, y: Array, sink_distance: Array, phase: Array) -> Array:
    """Speed over the distance from the sink (at least 1 m), 1/s, at a way x, y (m) to it."""
    xp = namespace(x)
    distance = xp.sqrt(x * x + y * y)
    outside = xp.maximum(distance, xp.full_like(distance, SLOWING))
    middle, amplitude = (FASTEST + SLOWEST) / 2, (FASTEST - SLOWEST) / 2
    wave = middle + amplitude * xp.sin(phase + 2 * math.pi / sink_distance * outside)
    # With sinks straight ahead, a point that far away counts as on the way.
    far = distance > sink_distance + (BEYOND + ROUNDING)
    return xp.where(far, xp.full_like(wave, FASTEST), wave) / outside
