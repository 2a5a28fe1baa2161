"""The contract of tasks: hooks, fields, registration, compiled models, timing."""

from mjgym.actions import Action, Model
from mjgym.arrays import Array
from mjgym.task.contract import GoalTask, Task
from mjgym.task.optional_hooks import Arrays
from mjgym.task.registration import (
    Registration,
    TaskType,
    on_register,
    register,
    register_variants,
    registrations,
    variant,
)
from mjgym.task.signals import Signal, vector_names
from mjgym.task.task_fields import WHOLE_TOLERANCE, steps_in
from mjgym.task.viewpoint import Viewpoint

__all__ = [
    "WHOLE_TOLERANCE",
    "Action",
    "Array",
    "Arrays",
    "GoalTask",
    "Model",
    "Registration",
    "Signal",
    "Task",
    "TaskType",
    "Viewpoint",
    "on_register",
    "register",
    "register_variants",
    "registrations",
    "steps_in",
    "variant",
    "vector_names",
]
