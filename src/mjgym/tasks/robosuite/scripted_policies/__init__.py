"""Scripted policies that solve one-arm tasks through the actions of OSC_POSE.

    policy = scripted_policy(env.unwrapped.task)
    observation, info = env.reset()           # of an environment with observation="dict"
    while not info.get("success"):
        observation, _, _, _, info = env.step(policy(observation))

A policy is a sequence of stages. In each, the tool moves to a place computed from the observation,
with its fingers open or closed; the next stage begins when it is there. One policy drives a single
environment or, given the observation of a vector environment, all sub-environments.
"""

from collections.abc import Callable
from typing import Any

from mjgym.task import Task
from mjgym.tasks.robosuite.door import Door
from mjgym.tasks.robosuite.lift import Lift
from mjgym.tasks.robosuite.nut_assembly import NutAssembly
from mjgym.tasks.robosuite.pick_place import PickPlace
from mjgym.tasks.robosuite.scripted_policies import cubes, opening, sorting_objects
from mjgym.tasks.robosuite.scripted_policies.staged_policy import ScriptedPolicy, Stage
from mjgym.tasks.robosuite.stack import Stack
from mjgym.tasks.robosuite.tabletop import Tabletop

__all__ = ["ScriptedPolicy", "Stage", "scripted_policy"]

POLICIES: dict[type, Callable[[Any], ScriptedPolicy]] = {
    Lift: cubes.lift,
    Stack: cubes.stack,
    Door: opening.open_door,
    PickPlace: sorting_objects.sort,
    NutAssembly: sorting_objects.sort,
}


def scripted_policy(task: Task) -> ScriptedPolicy:
    """The scripted policy that solves a task.

    Raises:
        ValueError: there is none for the task, or its robot has two arms or another controller.
    """
    make = POLICIES.get(type(task))
    if make is None or not isinstance(task, Tabletop):
        known = ", ".join(kind.__name__ for kind in POLICIES)
        raise ValueError(f"no scripted policy for {type(task).__name__}, only for {known}")
    if len(task.manipulators) != 1 or task.controller != "OSC_POSE" or task.grouped:
        raise ValueError(
            "a scripted policy moves one arm by OSC_POSE, and reads single observation entries"
        )
    return make(task)
