"""Layouts of observations, and the readings behind their entries."""

from collections.abc import Mapping

import numpy as np

from mjgym.arrays import shape
from mjgym.envs import pixels
from mjgym.envs.camera import Cameras
from mjgym.envs.options import Options
from mjgym.envs.spaces import Layout
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.loop.goals import Goals
from mjgym.observables import Image, Observable, Sensing, merge
from mjgym.sim.compiled import Generator
from mjgym.task import GoalTask
from mjgym.util.suggestions import or_else
from mjgym.variation.draws import Draws


def episodes_of(
    options: Options,
    bound: BoundTask,
    draws: Draws | None,
    generator: Generator,
    cameras: Cameras,
    max_steps: int | None,
) -> Episodes:
    """The episodes of an environment; a ValueError names an option that does not fit the task."""
    return Episodes(
        bound,
        generator,
        draws,
        goals=_goals(options, bound),
        dtype=options.dtype,
        sensing=_sensing(options, bound),
        draw=cameras.draw,
        shows_reward=options.visualize_reward,
        max_steps=max_steps,
        raises=options.on_divergence == "raise",
    )


def _goals(options: Options, bound: BoundTask) -> Goals | None:
    task = bound.task
    if options.observation != "goal":
        return None
    if not isinstance(task, GoalTask):
        raise ValueError(
            f'observation: "goal" is of a GoalTask, which {type(task).__name__} is not; "flat" and'
            ' "dict" are of every task'
        )
    entries = bound.sample_entries()
    for name in task.shows_goal:
        if name not in entries:
            raise ValueError(
                f"{type(task).__name__}.shows_goal: observation() has no {name!r}"
                f"{or_else(name, entries)}"
            )
    return Goals(task, options.dtype)


def _sensing(options: Options, bound: BoundTask) -> Sensing | None:
    simulation, entries = bound.simulation, bound.sample_entries()
    observables = merge(entries, bound.task.observables, options.observables)
    for name, observable in observables.items():  # errors name the entry
        if isinstance(observable.source, Image):
            pixels.check(f"observables: {name!r}", observable.source, simulation.model)
    shown = _shown(observables, options)
    if not shown:
        return None
    plain = {} if options.observation == "pixels" else entries
    sample, n = simulation.sample, simulation.n
    return Sensing(shown, plain, sample, pixels.blank, n, bound.substeps)


def _shown(observables: Mapping[str, Observable], options: Options) -> dict[str, Observable]:
    only_pictures = options.observation == "pixels"
    if "+" in options.observation:
        return dict(observables)
    shown = {}
    for name, observable in observables.items():
        if isinstance(observable.source, Image) == only_pictures:
            shown[name] = observable
        elif observable.enabled and name in (options.observables or {}):
            if only_pictures:
                raise ValueError(
                    f"observables: observation='pixels' has no entry {name!r};"
                    " 'flat+pixels' and 'dict+pixels' have"
                )
            raise ValueError(
                f"observables: {name!r} is a picture; it needs"
                " observation='flat+pixels', 'dict+pixels' or 'pixels'"
            )
    return shown


def layout_of(options: Options, episodes: Episodes) -> Layout:
    """The layout of an observation."""
    simulation, sensing = episodes.simulation, episodes.sensing
    mode, dtype = options.observation, options.dtype
    players, frames = episodes.task.players, options.frame_stack
    goals: dict[str, tuple[int, ...]] = {}
    hidden: tuple[str, ...] = ()
    if episodes.goals is not None:
        shown, hidden = episodes.goals.entries(simulation.sample), episodes.goals.task.shows_goal
        goals = {name: shape(goal) for name, goal in shown.items()}
    if sensing is None:
        entries = episodes.task.observation(simulation.sample)
        entries = {name: entry for name, entry in entries.items() if name not in hidden}
        pictures = options.pictures(simulation.model)
        return Layout(entries, mode, dtype, pictures, players=players, frames=frames, goals=goals)
    images = sensing.images
    plain = {} if images and options.pixels is None else options.pictures(simulation.model)
    read = {name: image for name, (image, _) in images.items()}
    readings = {name: count for name, (_, count) in images.items()}
    left_out = {*images, *hidden}
    entries = {name: np.zeros(s) for name, s in sensing.shapes.items() if name not in left_out}
    return Layout(entries, mode, dtype, {**plain, **read}, readings, players, frames, goals)
