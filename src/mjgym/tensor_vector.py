"""Many environments on a device: a task on MuJoCo Warp, whose arrays are torch's tensors."""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode

from mjgym import generators
from mjgym.episode import DivergenceError, Step
from mjgym.infos import TERMS, of_variation
from mjgym.models import substeps
from mjgym.sim import Single
from mjgym.sim.warp import Buffers, Device, Starts, Worlds, measured
from mjgym.spaces import check_action
from mjgym.task import Arrays, Task
from mjgym.variation.varying import Varying
from mjgym.vector import VectorEnv

OUTPUTS = ("torch", "numpy")
LOOK_EVERY = 64  # control steps between two looks at whether the buffers were too small
_NO_EPISODE, _ENDED, _NOT_FINITE = range(3)  # what is asked of the device before each step


class BufferWarning(UserWarning):
    """Contacts or constraints of some worlds did not fit into the device's buffers."""


class TensorVectorEnv(VectorEnv):
    """A `VectorEnv` on MuJoCo Warp, see `gym.make_vec(..., backend="warp")`.

    Observations, rewards, flags and infos are torch tensors on the device, actions may be; all is
    float32. Sub-environment i of `reset(seed=s)` has the starts of the single environment seeded
    s + i, rounded to float32.

    A step waits for the device once, before the physics: for whether all actions are finite and
    whether an episode has ended (in the mode "SameStep" once more behind it). Starts are drawn on
    the processor.

    Args:
        task: what to run.
        num_envs: number of sub-environments.
        device: "cpu", "cuda" or "cuda:<number>".
        output: "torch", or "numpy" for clients that want arrays; actions are taken in either.
        nconmax: contacts of a world, on average over all; None for what some episodes with random
            actions need, twice.
        njmax: rows of constraints of each world; None as for `nconmax`.
        start_threads: that draw the starts of the next episodes while the present ones run; 0 to
            draw a start when an episode begins. None for one on a GPU and none on the processor.
            Where `vary` varies something they are not used.
        **options: as of `VectorEnv`, without `threads` and `copy`.

    Attributes:
        device: name of the device.
        buffers: the room for contacts and constraints.

    Raises:
        NotImplementedError: MuJoCo Warp lacks a feature that the task needs, or pictures are to be
            observed; the message names it.
        ValueError: there is no such device, or another value is wrong.
    """

    _done: Any  # tensors here
    _buffers: list[Any]

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        device: str = "cuda",
        output: str = "torch",
        nconmax: int | None = None,
        njmax: int | None = None,
        start_threads: int | None = None,
        **options: Any,
    ) -> None:
        if output not in OUTPUTS:
            raise ValueError(f"output: {output!r} is none of {', '.join(OUTPUTS)}")
        for name, number, least in (
            ("nconmax", nconmax, 1),
            ("njmax", njmax, 1),
            ("start_threads", start_threads, 0),
        ):
            if number is not None and number < least:
                raise ValueError(f"{name}: must be at least {least}, got {number}")
        if "pixels" in options.get("observation", "flat"):
            raise NotImplementedError(
                f"observation={options['observation']!r}: pictures are not drawn on the device;"
                ' envs.camera() draws them on the processor, and backend="mujoco" observes them'
            )
        self._device = Device(device)
        self._numpy = output == "numpy"
        self._room = nconmax, njmax
        self._start_threads = start_threads
        self._steps_made = 0
        self._overflow_told = False
        with self._device.use():
            super().__init__(task, num_envs, **options)
            empty = self._layout.join(self._episodes.observe(), self._xp, num_envs)
            self._buffers = [empty, empty]
            self._done = self._flags(False)
        self.device = self._device.name
        self.buffers = self._simulations.buffers
        self._arguments.update(
            device=device,
            output=output,
            nconmax=self.buffers.nconmax,
            njmax=self.buffers.njmax,
            start_threads=start_threads,
        )
        for argument in ("threads", "copy"):
            del self._arguments[argument]

    def _simulate(self, varying: Varying | None) -> Worlds:
        nconmax, njmax = self._room
        task, model = self.task, self.model

        def scratch() -> Single:
            return Worlds.scratch(model, task.varies, varying)

        if nconmax is None or njmax is None:

            def start(i: int, simulation: Any) -> None:
                rng = np.random.default_rng(i)
                simulation.restore_defaults(None if varying is None else varying.draw(rng, 0))
                task.initialize(simulation.view, rng)

            found = measured(scratch(), start, substeps(task, model))
            nconmax = found.nconmax if nconmax is None else nconmax
            njmax = found.njmax if njmax is None else njmax
        room = Buffers(nconmax, njmax)
        threads = self._start_threads
        if threads is None:
            threads = 1 if self._device.is_cuda else 0
        # What varies is drawn with an episode, whose values a state holds.
        starts = Starts(scratch, self._generator_state, 0 if varying is not None else threads)
        return Worlds(model, self.num_envs, self._device, room, starts, task.varies, varying)

    def _generator_state(self, i: int) -> np.ndarray:
        return generators.encode(self._rng(i))

    def _forget_starts(self, rows: Iterable[int]) -> None:
        """Throw away starts that have been drawn ahead, as if they had not been."""
        for i in rows:
            before = self._simulations.starts.forget(i)
            if before is not None:
                generators.decode(self._rng(i), before)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The sub-environments' random generators."""
        self._forget_starts(range(self.num_envs))
        return tuple(self._rng(i) for i in range(self.num_envs))

    @property
    def _xp(self) -> Any:
        return self._episodes.view.xp

    def _flags(self, value: bool) -> torch.Tensor:
        return torch.full((self.num_envs,), value, device=self._device.torch)

    # Beginning episodes.

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes in all sub-environments, or in some; see `VectorEnv.reset`.

        The mask in `options` may be a tensor.
        """
        if seed is not None:
            self._forget_starts(range(self.num_envs))
        mask = (options or {}).get("reset_mask")
        if isinstance(mask, torch.Tensor):
            options = {**(options or {}), "reset_mask": mask.cpu().numpy()}
        with self._device.use():
            observation, info = self._given(super().reset(seed=seed, options=options))
            return observation, info

    def _begin(self, mask: np.ndarray, *, by_reset: bool = False) -> None:
        where = torch.as_tensor(mask, device=self._device.torch)
        self._episodes.reset(None if mask.all() else where, by_reset=by_reset)
        self._done = self._done & ~where

    # A control step, and what becomes of the episodes that have ended.

    def step(self, actions: Any) -> Any:
        """Advance by one control step; see `VectorEnv.step`.

        With `autoreset_mode="SameStep"` and tensors, `info["final_obs"]` holds an observation of
        each sub-environment, of which `info["_final_obs"]` says whose mean something.
        """
        self._check_usable()
        with self._device.use():
            return self._given(self._step(self._taken(actions)))

    def _taken(self, actions: Any) -> torch.Tensor:
        """Actions as a tensor on the device, of the right shape."""
        if not isinstance(actions, torch.Tensor):
            actions = torch.as_tensor(check_action(actions, self._action_shape))
        if tuple(actions.shape) != self._action_shape:
            shape = tuple(actions.shape)
            raise ValueError(f"action: expected shape {self._action_shape}, got {shape}")
        if actions.is_complex() or actions.dtype == torch.bool:
            raise ValueError(f"action: expected real numbers, got dtype {actions.dtype}")
        return actions.to(self._device.torch, torch.float32)

    def _step(self, actions: torch.Tensor) -> Any:
        episodes, n = self._episodes, self.num_envs
        asked = torch.stack(
            [(~episodes.started).sum(), self._done.sum(), (~torch.isfinite(actions)).sum()]
        ).tolist()
        if asked[_NO_EPISODE]:
            i = int((~episodes.started).nonzero()[0])
            raise gymnasium.error.ResetNeeded(f"sub-environment {i}: call reset() before step()")
        if asked[_NOT_FINITE]:
            check_action(actions.cpu().numpy(), self._action_shape)  # which names the first
        begun = None
        if asked[_ENDED]:
            if self.autoreset_mode == AutoresetMode.DISABLED:
                self._autoreset_disabled()
            begun = self._done
            self._begin(begun.cpu().numpy())
        if asked[_ENDED] == n:  # nobody is left to step
            self._observe()
            nothing = torch.zeros(n, device=self._device.torch)
            flags = self._flags(False)
            info = self._tensors(of_variation(episodes, np.ones(n, dtype=bool)))
            return self._observation(), nothing, flags, flags.clone(), info
        step = episodes.step(actions, None if begun is None else ~begun)
        self._observe()
        return self._finish_step(self._with_bad_observations(step, begun), begun)

    def _with_bad_observations(self, step: Step, begun: torch.Tensor | None) -> Step:
        """The step with those among the diverged whose observations are not finite."""
        parts = self._parts(self._buffers[0])
        finite = [torch.isfinite(p).reshape(self.num_envs, -1).all(dim=-1) for p in parts]
        bad = ~torch.stack(finite).all(dim=0)
        bad = bad if begun is None else bad & ~begun
        diverged = bad if step.diverged is None else step.diverged | bad
        if self._options.on_divergence == "raise" and bool(diverged.any()):
            self._episodes.end(diverged)
            raise DivergenceError(
                f"sub-environments {diverged.nonzero()[:, 0].tolist()} of"
                f" {type(self.task).__name__} are no longer finite; reset them"
            )
        return step._replace(diverged=diverged)

    def _finish_step(self, step: Step, begun: torch.Tensor | None) -> Any:
        """What a step returns; `begun` are those who began an episode instead of stepping."""
        n, diverged = self.num_envs, step.diverged
        assert diverged is not None
        stepped = self._flags(True) if begun is None else ~begun
        valued = stepped & ~diverged
        reward = self._each(step.reward, torch.float32)
        shown = valued.reshape(n, *[1] * (reward.ndim - 1))
        rewards = torch.where(shown, reward, 0.0)
        terminations = self._each(step.terminated, torch.bool) & valued
        truncations = self._each(step.truncated, torch.bool)
        if self.max_episode_steps is not None:
            truncations = truncations | (self._episodes.steps >= self.max_episode_steps)
        truncations = (truncations & stepped) | diverged
        new, old = self._buffers
        if isinstance(new, dict):
            self._buffers[0] = {k: _chosen(diverged, old[k], v) for k, v in new.items()}
        else:
            self._buffers[0] = _chosen(diverged, old, new)
        info = self._info(step, stepped, valued)
        if begun is not None:
            info.update(self._tensors(of_variation(self._episodes, begun.cpu().numpy())))
        self._done = terminations | truncations
        if self.autoreset_mode == AutoresetMode.SAME_STEP and bool(self._done.any()):
            info = self._begin_at_once(info)
        self._steps_made += 1
        if self._steps_made % LOOK_EVERY == 0:
            self._tell_overflow()
        return self._observation(), rewards, terminations, truncations, info

    def _each(self, values: Any, dtype: torch.dtype) -> torch.Tensor:
        """One value for each sub-environment, as a tensor of its own."""
        tensor = torch.as_tensor(values, device=self._device.torch).to(dtype)
        return tensor.expand(self.num_envs, *tensor.shape[1:]).clone()

    def _info(self, step: Step, stepped: torch.Tensor, valued: torch.Tensor) -> dict[str, Any]:
        """As `mjgym.infos.of_step` says, without waiting for who has stepped."""
        info: dict[str, Any] = {}

        def add(name: str, values: Any, dtype: torch.dtype, mask: torch.Tensor) -> None:
            tensor = self._each(values, dtype)
            shape = (self.num_envs, *[1] * (tensor.ndim - 1))
            info[name] = torch.where(mask.reshape(shape), tensor, torch.zeros_like(tensor))
            info[f"_{name}"] = mask.clone()

        for name, values in step.terms.items():
            add(f"{TERMS}{name}", values, torch.float32, valued)
        add("diverged", step.diverged, torch.bool, stepped)
        if step.success is not None:
            add("success", step.success, torch.bool, valued)
            add("success_once", self._episodes.success_once, torch.bool, valued)
        return info

    def _begin_at_once(self, info: dict[str, Any]) -> dict[str, Any]:
        """Begin, in the step that ends an episode, the next one, and keep what has been."""
        ended = self._done
        final_obs = self._buffers[0]
        names = [name for name in info if not name.startswith("_")]
        split: list[dict[str, Any]] = []
        for mask in (ended, ~ended):
            part: dict[str, Any] = {}
            for name in names:
                shown = info[f"_{name}"] & mask
                part[name] = _chosen(shown, info[name], torch.zeros_like(info[name]))
                part[f"_{name}"] = shown
            split.append(part)
        final_info, info = split
        which = ended.cpu().numpy()
        self._begin(which)
        info.update(self._tensors(of_variation(self._episodes, which)))
        fresh = self._layout.join(self._episodes.observe(), self._xp, self.num_envs)
        if isinstance(fresh, dict):
            self._buffers[0] = {k: _chosen(ended, v, final_obs[k]) for k, v in fresh.items()}
        else:
            self._buffers[0] = _chosen(ended, fresh, final_obs)
        info.update(final_obs=final_obs, _final_obs=ended.clone())
        info.update(final_info=final_info, _final_info=ended.clone())
        return info

    @property
    def nbytes(self) -> int:
        """Bytes of the device that hold the worlds; what a step takes besides is not counted."""
        self._check_open()
        return int(self._simulations.nbytes())

    def _tell_overflow(self) -> None:
        """Say once that the buffers are too small, and which argument makes them larger."""
        if self._overflow_told or not (missing := self._simulations.overflow()):
            return
        self._overflow_told = True
        warnings.warn(
            f"{type(self.task).__name__}: the device had no room for all {missing}; the rest was"
            " left out. Give make_vec a larger one",
            BufferWarning,
            stacklevel=4,
        )

    # What is observed.

    def _observe(self) -> None:
        fresh = self._layout.join(self._episodes.observe(), self._xp, self.num_envs)
        self._buffers = [fresh, self._buffers[0]]

    def _observation(self) -> Any:
        return self._buffers[0]

    @staticmethod
    def _parts(observation: Any) -> list[torch.Tensor]:
        return list(observation.values()) if isinstance(observation, dict) else [observation]

    def observe(self) -> Arrays:
        """The observation's entries by name as the simulator has them."""
        with self._device.use():
            entries: Arrays = self._given(super().observe())
            return entries

    def camera(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Pictures of the present states, drawn on the processor; see `VectorEnv.camera`."""
        with self._device.use():
            return super().camera(*args, **kwargs)

    # Snapshots.

    def get_state(self, ids: Sequence[int] | np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Everything that the futures of some episodes depend on; see `VectorEnv.get_state`.

        The entries are NumPy's, as of every backend.
        """
        with self._device.use():
            state = super().get_state(ids)
        for k, i in enumerate(self._rows(ids).tolist()):
            before = self._simulations.starts.before(i)
            if before is not None:
                state["rng"][k] = before
        return state

    def set_state(
        self, state: dict[str, Any], ids: Sequence[int] | np.ndarray | None = None
    ) -> Any:
        """Write a state of any backend; see `VectorEnv.set_state`."""
        self._check_usable()
        self._forget_starts(self._rows(ids).tolist())
        with self._device.use():
            return self._given(super().set_state(state, ids))

    def set_attr(
        self, name: str, values: Any, *, ids: Sequence[int] | np.ndarray | None = None
    ) -> None:
        """Set the random generators of sub-environments; see `VectorEnv.set_attr`."""
        self._forget_starts(range(self.num_envs))
        super().set_attr(name, values, ids=ids)

    # In the library that the user wants.

    def _tensors(self, values: Any) -> Any:
        """The same with tensors in place of NumPy's arrays of numbers."""
        if isinstance(values, dict):
            return {name: self._tensors(value) for name, value in values.items()}
        if isinstance(values, tuple):
            return tuple(self._tensors(value) for value in values)
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            tensor = torch.as_tensor(values, device=self._device.torch)
            return tensor.float() if tensor.dtype == torch.float64 else tensor
        return values

    def _given(self, values: Any) -> Any:
        """What the user gets, in the library that `output` names."""
        return _arrays(values) if self._numpy else self._tensors(values)


def _chosen(mask: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Rows of one where a mask says so, and else of the other."""
    return torch.where(mask.reshape(-1, *[1] * (one.ndim - 1)), one, other)


def _arrays(values: Any) -> Any:
    """The same in NumPy, as Gymnasium's vectors give it."""
    if isinstance(values, tuple):
        observation, *rest = values
        arrays = (_arrays(observation), *(_arrays(value) for value in rest))
        if len(arrays) == 5:  # of a step, whose rewards have double precision
            return (arrays[0], arrays[1].astype(np.float64), *arrays[2:])
        return arrays
    if isinstance(values, dict):
        arrays_of = {name: _arrays(value) for name, value in values.items()}
        if "final_obs" in arrays_of:
            arrays_of["final_obs"] = _rows(arrays_of["final_obs"], arrays_of["_final_obs"])
        return arrays_of
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else values


def _rows(observation: Any, mask: np.ndarray) -> np.ndarray:
    """An observation of each sub-environment of a mask, None of the others."""
    rows = np.full(len(mask), None, dtype=object)
    for i in np.flatnonzero(mask).tolist():
        is_dict = isinstance(observation, dict)
        rows[i] = {k: v[i] for k, v in observation.items()} if is_dict else observation[i]
    return rows
