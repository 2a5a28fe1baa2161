"""A task's `initialize`, held to the model fields that its `varies` names."""

from typing import Any

from mjgym.sim import Single
from mjgym.sim.model_writes import VARIABLE, field_names, noted, undone
from mjgym.task import Task


def initialize(task: Task, scratch: Single, rng: Any) -> None:
    """Write the start of an episode into a simulation at the model's defaults.

    Fields of the model that `varies` does not name are compared before and after: all of them in a
    simulation's first start, later those that a hook has used through a view.
    """
    model, view, varies = scratch.model, scratch.view, task.varies
    compared = field_names() if scratch.untried else view.used
    before = noted(model, [name for name in compared if name not in varies])
    task.initialize(view, rng)
    first_used = {name: x for name, x in view.used.items() if name not in varies}
    if written := undone(model, {**first_used, **before}):
        raise ValueError(_refusal(task, written))
    scratch.untried = False


def _refusal(task: Task, written: tuple[str, ...]) -> str:
    says = f"{type(task).__name__}.initialize writes {', '.join(written)} of the model"
    if shared := [name for name in written if name not in VARIABLE]:
        return f"{says}; all episodes share {', '.join(shared)}, so write it in model()"
    return (
        f"{says}, which `varies` does not name, so that a batch would lose it: set varies ="
        f" {(*task.varies, *written)!r}"
    )
