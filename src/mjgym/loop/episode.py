"""The episode loop: the order of a task's hooks, and the state that an episode depends on.

One loop serves one simulation and many; `Env` and `VectorEnv` wrap it.

A control step, in this order:

| hook | sees | returns |
|---|---|---|
| `before_step` | the action | fields and memory to set once per control step |
| `control` | the action | controls, once or before each physics step |
| `substep` | the state after each physics step | memory |
| `current_forces` | the new state | whether to recompute forces |
| `terms`, `reward` | the new state, the memory of the step before | the reward |
| `terminated`, `truncated`, `success` | the same | flags |
| `update` | the same | memory for the next step |
| `observation` | the new state and the new memory | entries |

An episode begins with `initialize`, `memory`, `observation`.
"""

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from mjgym.arrays import Array, all_finite, any_true, shape, where_rows, zero_unless
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.goals import Goals
from mjgym.loop.hooks import name_culprit
from mjgym.loop.initialize import initialize
from mjgym.loop.states import MEMORY, READINGS, in_simulation
from mjgym.observables import Image, Sensing
from mjgym.sim import Single, View
from mjgym.sim.compiled import CompiledStep, Generator, Outcome
from mjgym.sim.engine import HUGE, quiet
from mjgym.task import Arrays
from mjgym.util import generators
from mjgym.util.values import whole_number
from mjgym.variation.draws import Draws

WRONG_RESULT = TypeError, ValueError, IndexError
"""Errors that a hook's result of a wrong shape or kind may raise."""

REDRAWS = 10  # attempts to replace a start that is not finite

Draw = Callable[[Image, np.ndarray, np.ndarray | None], np.ndarray]
"""Returns images of some simulations, (len(rows), height, width, ...), with their rewards if body
colours show them."""


class DivergenceError(RuntimeError):
    """A simulation reached a state that is not finite; raised with `on_divergence="raise"`."""


class Step(NamedTuple):
    """The outcome of a control step in all simulations; arrays of shape lead unless stated.

    Attributes:
        terms: the reward's factors by name.
        reward: the reward; 0 where the simulation has diverged.
        terminated: whether the task has ended the episode.
        truncated: whether the task, the step limit or a divergence has cut the episode off.
        success: whether the goal is reached; None for a task without one.
        diverged: whether state or reward is not finite, and, after `Episodes.conclude`, the
            observation; None if all are finite.
    """

    terms: Arrays
    reward: Array
    terminated: Array
    truncated: Array
    success: Array | None
    diverged: Array | None


# Half the time of the named tuple's constructor.
_step_of: Callable[[tuple[Any, ...]], Step] = functools.partial(tuple.__new__, Step)


class Episodes:
    """The episodes of a task in one simulation or in many.

    Args:
        bound: the task and its simulation.
        generator: returns the random generator of a simulation.
        draws: values of the user's variations; None if nothing varies.
        goals: goals that determine reward and success and are observed; None for the task's reward.
        dtype: dtype of the observation, "float32" or "float64".
        sensing: readings behind the observation; None if no entry is delayed, noisy or the like.
        draw: renders images that are read.
        shows_reward: whether body colours in images follow the reward.
        max_steps: control steps after which an episode is truncated; None for no limit.
        raises: whether a divergence raises instead of truncating the episode.

    Attributes:
        substeps: physics steps per control step.
        steps: control steps of the current episodes, shape lead.
        started: whether there is an episode, shape lead.
        success_once: whether the goal has been reached in the episode, shape lead.
        rewards: rewards of the last step, shape lead, with a trailing axis of players if there are
            several; NaN before the first step.
        redraws: attempts to replace a start whose observation is not finite.
        first_number: number of the first simulation, for messages.
        target: address of an array for the next observation, which a compiled step writes; 0: none.
        seen: whether the last step has written it.
        not_finite: mask of those observations that are not finite; None if there are none.
    """

    def __init__(
        self,
        bound: BoundTask,
        generator: Generator,
        draws: Draws | None = None,
        *,
        goals: Goals | None = None,
        dtype: str = "float64",
        sensing: Sensing | None = None,
        draw: Draw | None = None,
        shows_reward: bool = False,
        max_steps: int | None = None,
        raises: bool = False,
    ) -> None:
        if max_steps is not None:
            whole_number("max_episode_steps", max_steps)
        self.task, self.simulation, self.view = bound.task, bound.simulation, bound.simulation.view
        self._bound, self._defined, self.substeps = bound, bound.defined, bound.substeps
        self._generator, self._draws = generator, draws
        self.goals, self.sensing, self._dtype = goals, sensing, dtype
        self.target, self.seen = 0, False
        self.not_finite: Array | None = None
        if sensing is not None:
            sensing.bind(self.view)
        self._draw, self._shows_reward = draw, shows_reward
        self.first_number = 0
        self._max_steps, self._raises = max_steps, raises
        self.has_goal, self.redraws = bound.has_goal, 0 if raises else REDRAWS
        self._in_parts = "substep" in self._defined or self.task.control_every_substep
        self._redraws_forces = draws is not None and draws.redraws
        self._whole = False  # whether all hooks of a control step are compiled
        self._streams_seeded = np.zeros(self.simulation.n, dtype=bool)
        self._reseeded = np.zeros(self.simulation.n, dtype=bool)  # since the last start
        lead, xp = self.view.lead, self.view.xp
        self.steps: Array = xp.zeros(lead, dtype=xp.int64)
        self.started: Array = xp.zeros(lead, dtype=xp.bool)
        self.success_once: Array = xp.zeros(lead, dtype=xp.bool)
        self.rewards: Array = xp.full(bound.reward_shape, xp.nan)

    @functools.cached_property
    def _compiled(self) -> CompiledStep | str:
        """The compiled control step, or the reason why hooks run on arrays.

        It is compiled when it is first asked for, which can take a second.
        """
        if self.sensing is not None:
            return "observables are read between physics steps"
        if not self.simulation.compiles:
            return "the backend, or what varies, takes no compiled step"
        step = self.task.compiled_step(self._dtype, self.goals, self.simulation.varied)
        if not isinstance(step, str):
            self.simulation.compile(step)
            self._whole = step.reasons.keys() <= {"initialize"} and not self._redraws_forces
        return step

    @property
    def uncompiled(self) -> str:
        """The reason why hooks run on arrays; empty with a compiled step."""
        return self._compiled if isinstance(self._compiled, str) else ""

    def run_in_numpy(self, reason: str) -> None:
        """Run all hooks in NumPy from now on, e.g. to collect warnings."""
        self.__dict__["_compiled"], self._whole = reason, False

    @property
    def in_numpy(self) -> dict[str, str]:
        """Why a compiled step leaves some hooks to NumPy, by hook."""
        return {} if isinstance(self._compiled, str) else dict(self._compiled.reasons)

    def reward(self, terms: Arrays | None = None) -> Array:
        """The reward of the current states, from the task's terms or from its goals."""
        if self.goals is not None:
            return self.goals.reward(self.view)
        return self.task.reward(self.task.terms(self.view) if terms is None else terms)

    def shown_rewards(self, rows: Any = slice(None)) -> np.ndarray | None:
        """Rewards shown as body colours: the last, or those of a start; None if colours are off."""
        if not self._shows_reward:
            return None
        last: np.ndarray = self.view.by_row(self.rewards)[rows]
        if np.isnan(last).any():
            last = np.where(np.isnan(last), self.view.by_row(self.reward())[rows], last)
        return last

    # Beginning an episode.

    def reseed(self, i: int) -> None:
        """Respawn the streams of variation and sensing from a simulation's new generator."""
        self._streams_seeded[i] = False
        self._reseeded[i] = True

    def _seed_streams(self, *rows: int) -> None:
        """Spawn generators for variation and sensing, which leave the task's draws unchanged."""
        if self._draws is None and self.sensing is None:
            return
        for i in rows:
            if self._streams_seeded[i]:
                continue
            draws_rng, sensing_rng = self._generator(i).spawn(2)
            if self._draws is not None:
                self._draws.seed(i, draws_rng)
            if self.sensing is not None:
                self.sensing.seed(i, sensing_rng)
            self._streams_seeded[i] = True

    def reset(self, where: Array | None = None, *, by_reset: bool = True) -> None:
        """Begin an episode in some simulations.

        Args:
            where: mask of those that begin, bool of shape lead; None for all.
            by_reset: whether the user's `reset` begins it, rather than an autoreset.
        """
        _ = self._compiled  # compiled now, so that the first step need not wait for it
        kept = {name: self.view.by_row(self.view.memory[name]) for name in self.task.kept}
        goes_on = self.view.by_row(self.started) & ~self._reseeded

        def start(i: int, scratch: Single) -> None:
            self._seed_streams(i)
            wrong = ""
            for _ in range(1 + self.redraws):
                scratch.view.kept = {k: x[i].copy() for k, x in kept.items()} if goes_on[i] else {}
                if self._draws is None:
                    scratch.restore_defaults()
                else:
                    self._draws.begin(i, scratch, by_reset=by_reset)
                initialize(self.task, scratch, self._generator(i))
                if self._draws is not None:  # physics in `initialize` runs without these forces
                    self._draws.push(i, scratch)
                if not (wrong := scratch.unbounded()):
                    self._reseeded[i] = False
                    return
            raise DivergenceError(
                f"{type(self.task).__name__}: an episode cannot begin, because initialize() has"
                f" written a {wrong} that is not finite or exceeds {HUGE:g}"
            )

        self.end(where)  # if a start raises, there is no half-begun episode to step
        plain = self._draws is None and not self.uncompiled
        self.simulation.reset(start, where, self._generator if plain else None)
        if "memory" in self._defined:
            self._begin_memory(where)
        self.steps = self._where(where, 0, self.steps)
        self.started = self._where(where, True, self.started)
        self.success_once = self._where(where, False, self.success_once)
        self.rewards = self._where(where, self.view.xp.nan, self.rewards)
        if self.sensing is not None:
            self._sense_anew(self.sensing, self._rows(where))

    def _begin_memory(self, where: Array | None) -> None:
        part, rows = (self.view, None) if where is None else self.view.part(where)
        entries = self.task.memory(part)
        if rows is None:
            self._remember(entries, where)
            return
        for name, value in part.owned(entries).items():
            kept = self.view.memory[name]
            if value.shape != (len(rows), *kept.shape[1:]):
                raise ValueError(f"memory {name!r} has changed its shape")
            kept[rows] = value

    def refuse_starts(self, bad: Array) -> NoReturn:
        """End a mask of episodes that cannot begin, because the observation is not finite.

        Raises:
            DivergenceError: always; the message names the entries.
        """
        self.end(bad)
        with np.errstate(over="ignore"):  # they may be too large for the observation's type
            entries = self.observe().items()
            shown = {name: self.view.to_numpy(x).astype(np.float32) for name, x in entries}
        wrong = [name for name, x in shown.items() if not np.isfinite(x).all()]
        raise DivergenceError(
            f"{type(self.task).__name__}: an episode cannot begin, because its observation is"
            f" not finite in {', '.join(map(repr, wrong))}; look at initialize(), and at what"
            " varies"
        )

    def end(self, where: Array | None = None) -> None:
        """End the episodes of a mask of simulations, or of all."""
        self.started = self._where(where, False, self.started)

    # A control step.

    def step(self, action: Array, where: Array | None = None) -> Step:
        """Advance by one control step; `conclude` completes its result, once it has been observed.

        Args:
            action: (*lead, number of actions), neither rounded nor clipped.
            where: mask of the simulations that step, bool of shape lead; None for all. For the
                others, only `Step.diverged` is meaningful: whether their start is not finite.
        """
        if self._whole and self.target:
            self.seen = True
            found = self.simulation.step_compiled(action, self.substeps, where, self.target)
        else:
            found = self._step_partly(action, where)
        self.not_finite, reward = found.not_finite, found.reward
        self.steps = self.steps + 1 if where is None else self.steps + where
        self.rewards = reward if where is None else self._where(where, reward, self.rewards)
        if self.sensing is not None:
            self.sensing.read(self.substeps, self.view, self.entries, self._draw_image)
        return self._outcome(found, self.steps)

    def _step_partly(self, action: Array, where: Array | None) -> Outcome:
        """Make a control step of which some hooks run on arrays, or all."""
        task, view, defined = self.task, self.view, self._defined
        compiled = frozenset[str]() if isinstance(self._compiled, str) else self._compiled.hooks
        if self._redraws_forces:
            self._redraw_forces(where)
        if "before_step" in defined and "before_step" not in compiled:
            self._take_over(task.before_step(view, action), where)
        terms, reward, terminated, truncated, success, diverged, not_finite = self._move(
            action, where, compiled
        )
        if terms is None:
            terms = task.terms(view)
        if reward is None:
            reward = self.reward(terms)
            diverged = self._with_bad_rewards(reward, diverged, where)
        if terminated is None:
            terminated = task.terminated(view)
        if truncated is None:
            truncated = task.truncated(view)
        if self.has_goal and success is None:
            success = (self.goals or task).success(view)
        if "update" in defined and "update" not in compiled:
            self._remember(task.update(view), where)
        return Outcome(terms, reward, terminated, truncated, success, diverged, not_finite)

    def _outcome(self, found: Outcome, steps: Array) -> Step:
        """The result of control steps, after which as many have been made."""
        terms, reward, terminated, truncated, success, diverged, _ = found
        if self._max_steps is not None:
            over = steps >= self._max_steps
            truncated = over if truncated is False else over | truncated
        if not self.has_goal:
            success = None
        return _step_of((terms, reward, terminated, truncated, success, diverged))

    @property
    def runs_whole(self) -> bool:
        """True if `run` makes the same steps as `step`: all hooks are compiled."""
        return not self.uncompiled and self._whole and self.target != 0

    def run(self, actions: Array) -> Step:
        """Make T control steps in each simulation of a batch, until its episode ends.

        Args:
            actions: (n, T, number of actions).

        Returns:
            Arrays (n, T, ...), which mean nothing after the end.
        """
        found = self.simulation.step_compiled(actions, self.substeps, None, self.target)
        times = self.steps[:, None] + np.arange(1, 1 + actions.shape[1])
        step = self._outcome(found, times)
        bad = [x for x in (step.diverged, found.not_finite) if x is not None]
        return self._cut_off(step, functools.reduce(operator.or_, bad)) if bad else step

    def _move(self, action: Array, where: Array | None, compiled: frozenset[str]) -> Outcome:
        """Run the physics, and the hooks around it that are compiled."""
        task, view, simulation = self.task, self.view, self.simulation
        if not isinstance(self._compiled, str):
            if "control" not in compiled:
                action = task.control(view, action)
            self.seen = self.target != 0 and "observation" in compiled
            return simulation.step_compiled(
                action, self.substeps, where, self.target if self.seen else 0
            )
        if self._in_parts or self.sensing is not None:
            self._step_in_parts(action, where)
        else:
            control = self._control(view, action)
            simulation.step(control, self.substeps, where, forces=self._bound.forces_always)
        if self._bound.forces_sometimes:
            due = self._per_simulation(task.current_forces(view))
            simulation.update_forces(due if where is None else due & where)
        return Outcome(diverged=simulation.diverged())

    def conclude(self, step: Step, bad: Array | None = None, where: Array | None = None) -> Step:
        """Complete the result of `step`: truncate diverged episodes and latch success.

        Args:
            bad: mask of observations that are not finite; None if all are finite.
            where: as in `step`.

        Raises:
            DivergenceError: a simulation has diverged, and `raises` is set.
        """
        terms, reward, terminated, truncated, success, diverged = step
        if bad is not None:
            diverged = bad if diverged is None else diverged | bad
        if success is not None and success is not False:  # a plain False needs no array operation
            valued = success if diverged is None else success & ~diverged
            self.success_once = self.success_once | (valued if where is None else valued & where)
        if diverged is None:
            return step
        self.refuse(diverged)
        xp = self.view.xp
        reward = xp.broadcast_to(xp.asarray(reward), self._bound.reward_shape)
        terminated, truncated = map(self._per_simulation, (terminated, truncated))
        step = Step(terms, reward, terminated, truncated, success, diverged)
        return self._cut_off(step, diverged)

    def _cut_off(self, step: Step, diverged: Array) -> Step:
        """The result of steps that a mask of the simulations has not survived."""
        finite = ~diverged
        return step._replace(
            reward=zero_unless(finite, step.reward),
            terminated=step.terminated & finite,
            truncated=step.truncated | diverged,
            diverged=diverged,
        )

    def _redraw_forces(self, where: Array | None) -> None:
        assert self._draws is not None
        time = self.view.by_row(self.steps) * self.task.control_timestep
        going = np.ones(len(time), dtype=bool) if where is None else self.view.by_row(where)
        self._draws.redraw(self.simulation, time, going)

    def name_culprit(self, error: Exception, action: Array) -> None:
        """Name the hook that has made a step fail; see `mjgym.loop.hooks.name_culprit`."""
        name_culprit(error, self.task, self.view, action, self._bound.shown)

    def refuse(self, diverged: Array) -> None:
        """End episodes that are no longer finite, and raise if `raises` is set.

        Raises:
            DivergenceError: there are such episodes, and `raises` is set.
        """
        if not (self._raises and any_true(diverged)):
            return
        self.end(diverged)
        name = type(self.task).__name__
        if not self.view.lead:
            raise DivergenceError(
                f"the simulation of {name} is no longer finite after {int(self.steps)} steps;"
                " reset the environment"
            )
        rows = (self._rows(diverged) + self.first_number).tolist()
        raise DivergenceError(f"sub-environments {rows} of {name} are no longer finite; reset them")

    def _with_bad_rewards(
        self, reward: Array, diverged: Array | None, where: Array | None
    ) -> Array | None:
        xp = self.view.xp
        rewards = xp.asarray(reward)
        if isinstance(rewards, np.ndarray) and all_finite(rewards):  # a device is not waited for
            return diverged
        finite = xp.isfinite(rewards)
        players = tuple(range(len(self.view.lead), finite.ndim))
        bad = ~xp.all(finite, axis=players) if players else ~finite
        bad = bad if where is None else bad & where
        return bad if diverged is None else diverged | bad

    def _step_in_parts(self, action: Array, where: Array | None) -> None:
        """Run the physics of a control step, with hooks and readings in between."""
        task, view, sensing = self.task, self.view, self.sensing
        active = None if where is None else view.to_numpy(where)
        stops = [] if sensing is None else sensing.stops(self._time(), active)
        if self._in_parts:
            stops = list(range(1, self.substeps))
        done = 0
        with quiet():  # a hook may pass on NaN to a simulation that the engine has reset
            for stop in (*stops, self.substeps):
                if done == 0 or task.control_every_substep:
                    control = self._control(view, action)
                last = stop == self.substeps
                forces = last and self._bound.forces_always
                self.simulation.step(control, stop - done, where, forces=forces)
                done = stop
                if "substep" in self._defined and (entries := task.substep(view)):
                    self._remember(entries, where)
                if sensing is not None and not last:
                    sensing.read(stop, view, self.entries, self._draw_image)

    def _control(self, view: View, action: Array) -> Array:
        """The task's controls; an array of another shape would be broadcast."""
        control = self.task.control(view, action)
        if (found := getattr(control, "shape", ())) != (*view.lead, view.model.nu):
            raise ValueError(f"control() has returned an array of shape {found}")
        return control

    def _take_over(self, entries: Arrays, where: Array | None) -> None:
        """Store the results of `before_step`: memory entries, and fields of MjData."""
        memory = self.view.memory
        self._remember({k: v for k, v in entries.items() if k in memory}, where)
        fields = {k: v for k, v in entries.items() if k not in memory}
        if fields:
            self.simulation.write(self.view.owned(fields), where)

    def _remember(self, entries: Arrays, where: Array | None) -> None:
        view = self.view
        old = view.memory
        new = view.owned(entries)
        for name, value in new.items():
            if value.shape != old[name].shape:
                raise ValueError(f"memory {name!r} has changed its shape")
            if value.dtype != old[name].dtype:  # an action may be float32, a count of bools
                new[name] = view.xp.astype(value, old[name].dtype)
        if where is not None:
            new = {name: self._where(where, value, old[name]) for name, value in new.items()}
        view.memory = {**old, **new}

    def _where(self, where: Array | None, new: Any, old: Array) -> Array:
        """New values for some simulations, in an array of leading shape lead."""
        if where is not None:
            return where_rows(where, new, old)
        return self.view.xp.full_like(old, new)

    def _per_simulation(self, values: Any) -> Array:
        xp = self.view.xp
        return xp.broadcast_to(xp.asarray(values), self.view.lead)

    # What is observed.

    def entries(self) -> Arrays:
        """The task's entries of the current observation."""
        return self.task.observation(self.view)

    def observe(self) -> Arrays:
        """The entries of the current observation: the task's or their readings, and goals."""
        if self.sensing is None:
            shown = self.task.observation(self.view)
        else:  # readings are NumPy's on every engine
            readings = self.sensing.observe(self._time(), self.view.lead, self.entries)
            shown = {name: self.view.from_numpy(value) for name, value in readings.items()}
        return shown if self.goals is None else {**shown, **self.goals.entries(self.view)}

    def _time(self) -> np.ndarray:
        """Physics steps of the episodes so far, (n,)."""
        return np.reshape(self.view.to_numpy(self.steps) * self.substeps, self.simulation.n)

    def _sense_anew(self, sensing: Sensing, rows: np.ndarray) -> None:
        sensing.restart(rows, self._time()[rows], self.view, self.entries, self._draw_image)

    def _rows(self, where: Array | None) -> np.ndarray:
        n = self.simulation.n
        return np.arange(n) if where is None else np.flatnonzero(self.view.to_numpy(where))

    def variation(self) -> dict[str, np.ndarray]:
        """Current values of the user's variations by key, (n, ...) each."""
        return {} if self._draws is None else self._draws.values

    # Snapshots.

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copy everything that the rest of the episodes depends on, (len(rows), ...) each.

        The entries are those of MjData (`qpos`, `qvel`, `act`, `qacc_warmstart`, ...), the model
        fields in `task.varies` and those that `vary` names, `sensordata`, the task's memory
        (`memory.<name>`), `steps`, `success_once`, the random generators (`rng`, ...), values of
        variations (`variation.<key>`) and readings (`observables.<entry>.<part>`).
        """
        state = self.simulation.get_state(rows)
        state.update({MEMORY + k: self.view.by_row(m)[rows] for k, m in self.view.memory.items()})
        state["steps"] = self.view.by_row(self.steps)[rows]
        state["success_once"] = self.view.by_row(self.success_once)[rows]
        state["rng"] = np.stack([generators.encode(self._generator(i)) for i in rows.tolist()])
        self._seed_streams(*rows.tolist())
        if self._draws is not None:
            state.update(self._draws.state(rows))
        if self.sensing is not None:
            state.update({READINGS + k: v for k, v in self.sensing.state(rows).items()})
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Write entries of `get_state`; the episodes continue from there.

        Args:
            state: entries that `check_state` has accepted.
        """
        self._seed_streams(*rows.tolist())  # else the first look at them seeds what is written
        self.simulation.set_state({k: v for k, v in state.items() if in_simulation(k)}, rows)
        memory = dict(self.view.memory)
        for name, value in state.items():
            if name.startswith(MEMORY):
                key = name.removeprefix(MEMORY)
                memory[key] = self._written(memory[key], value, rows)
        self.view.memory = memory
        for name in ("steps", "success_once"):
            if name in state:
                setattr(self, name, self._written(getattr(self, name), state[name], rows))
        for i, words in zip(rows.tolist(), state.get("rng", ()), strict=False):
            generators.decode(self._generator(i), words)
        if self._draws is not None:
            self._draws.restore(state, rows)
        self.started = self._written(self.started, True, rows)
        self.rewards = self._written(self.rewards, np.nan, rows)
        if self.sensing is None:
            return
        readings = {
            name.removeprefix(READINGS): values
            for name, values in state.items()
            if name.startswith(READINGS)
        }
        if readings:
            self.sensing.restore(readings, rows)
        else:
            self._sense_anew(self.sensing, rows)

    def _written(self, old: Array, value: Any, rows: np.ndarray) -> Array:
        """An array of leading shape lead, with other values in some rows."""
        by_row = np.array(self.view.by_row(old))
        by_row[rows] = value
        return self.view.from_numpy(np.reshape(by_row, shape(old)))

    def _draw_image(self, image: Image, rows: np.ndarray) -> np.ndarray:
        assert self._draw is not None
        return self._draw(image, rows, self.shown_rewards(rows))
