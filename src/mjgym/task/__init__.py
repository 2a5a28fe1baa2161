"""The contract of tasks: hooks, fields, registration, compiled models, timing."""

from mjgym.task.contract import (
    WHOLE,
    Action,
    Array,
    Arrays,
    GoalTask,
    Model,
    Registration,
    Signal,
    Task,
    TaskType,
    Viewpoint,
    on_register,
    register,
    registrations,
    steps_in,
    vector_names,
)

__all__ = [
    "WHOLE",
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
    "registrations",
    "steps_in",
    "vector_names",
]
