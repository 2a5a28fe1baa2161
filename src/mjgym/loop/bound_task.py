"""A task on a simulation: its hooks have run once, and their constant results are kept."""

import dataclasses

from mjgym.loop.hooks import bind_and_validate, defined_hooks, probe, shapes
from mjgym.sim import Simulation
from mjgym.sim.model_writes import field_names, noted, undone
from mjgym.task import Arrays, Task
from mjgym.task.models import substeps
from mjgym.task.task_fields import check_fields
from mjgym.util.suggestions import or_else

MAX_CONTACTS = 60  # in a model's default state, for contact memory to be allocated at once


class BoundTask:
    """A task on a simulation of its model, at the model's defaults.

    Every hook has run once, so that a batch computes what they read, and the views hold the task's
    memory.

    Args:
        simulation: simulation of the task's model.

    Attributes:
        substeps: physics steps per control step.
        defined: names of the hooks that the task overrides, without a `substep` that returns
            nothing.
        reward_shape: shape lead, with a trailing axis of players if there are several.
        shown: shapes of the observation's entries.
        forces_always: whether forces are computed in every control step.
        forces_sometimes: whether `current_forces` decides that by the state.

    Raises:
        ValueError: a hook writes to the model.
        Exception: as `bind_and_validate` and `check_fields`, or raised by a hook.
    """

    def __init__(self, task: Task, simulation: Simulation) -> None:
        check_fields(type(task), {f.name: getattr(task, f.name) for f in dataclasses.fields(task)})
        self.task, self.simulation = task, simulation
        self.substeps = substeps(task, simulation.model)
        self.defined = defined_hooks(task)
        view, sample = simulation.view, simulation.sample
        # Parts that overlap in the default state alone would allocate contact memory for good; a
        # usual number of contacts is best allocated at once.
        contacts = int(sample.ncon) <= MAX_CONTACTS
        simulation.forward(contacts=contacts)
        actions = len(task.actions(simulation.model))
        before = noted(simulation.model, field_names())
        results = bind_and_validate(task, view, simulation.model.nu, actions)
        self.shown = shapes(results["observation"])
        if names := undone(simulation.model, before):
            raise ValueError(
                f"{type(task).__name__}: a hook writes {', '.join(names)} of the model, which only"
                " initialize may, and only if `varies` names it"
            )
        if view.lead:
            probe(task)
        simulation.keep_read()
        self.has_goal = results["success"] is not None
        self.reward_shape = (*view.lead, *((len(task.players),) if task.players else ()))
        # A plain bool depends on no state: forces are then computed with the physics, or never.
        forces = results["current_forces"]
        self.forces_always = forces is True
        self.forces_sometimes = not isinstance(forces, bool)
        if not results["substep"]:
            self.defined -= {"substep"}
        simulation.forward(contacts=contacts)
        view.memory = view.owned(task.memory(view))
        sample.memory = sample.owned(task.memory(sample))
        terms = results["terms"]
        for field, known, hooks in (
            ("kept", view.memory, "memory() has"),
            ("reported", {**view.memory, **terms}, "memory() and terms() have"),
        ):
            for name in getattr(task, field):
                if name not in known:
                    hook = f"{type(task).__name__}.{field}"
                    raise ValueError(f"{hook}: {hooks} no {name!r}{or_else(name, known)}")

    def sample_entries(self) -> Arrays:
        return self.task.observation(self.simulation.sample)
