"""A vector environment on a device: a task on MuJoCo Warp, with torch tensors."""

import dataclasses
import functools
import warnings
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch

from mjgym.envs.camera import Cameras
from mjgym.envs.infos import shown_entries
from mjgym.envs.observations import copy_observation, rows_of
from mjgym.envs.options import WarpOptions
from mjgym.envs.spaces import check_action
from mjgym.envs.vector import VectorEnv
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.initialize import initialize
from mjgym.observables import Image
from mjgym.sim import Single
from mjgym.sim.scratches import MIN_STEPS
from mjgym.sim.warp import Buffers, Device, GraphedHooks, Pictures, Starts, Worlds, mapped, measured
from mjgym.task import Task
from mjgym.task.models import substeps
from mjgym.util import generators
from mjgym.variation.varying import Varying

LOOK_EVERY = 64  # control steps between two checks for buffer overflow


class BufferWarning(UserWarning):
    """Contacts or constraints of one or more worlds exceeded the device's buffers."""


class TensorVectorEnv(VectorEnv):
    """A `VectorEnv` on MuJoCo Warp, see `gym.make_vec(..., backend="warp")`.

    Observations, rewards, flags and infos are torch tensors on the device; actions may be. All
    numbers are float32. Sub-environment i of `reset(seed=s)` has the starts of the single
    environment seeded s + i, rounded to float32.

    Images in observations are ray-traced on the device: geoms with textures, lights and the sky,
    without sites, tendons, reflections and antialiasing. `camera()` and `render()` render on the
    CPU.

    A step waits for the device once, before the physics, to know whether all actions are finite and
    whether an episode has ended (in mode "SameStep" once more at its end). Starts are drawn on the
    CPU.

    Args:
        **arguments: the fields of `WarpOptions` and `Options` in `mjgym.envs.options`.

    Raises:
        NotImplementedError: MuJoCo Warp lacks a feature that the task or its images need; the
            message names it.
        ValueError: the device is unknown, or another value is wrong.
    """

    own_options = WarpOptions

    def __init__(self, task: Task, num_envs: int = 1, **arguments: Any) -> None:
        self._device = Device(arguments.get("device", WarpOptions.device))
        self._steps_made = 0
        self._overflow_told = False
        with self.enter():
            super().__init__(task, num_envs, **arguments)
        if self._device.is_cuda:
            hooks: Any = GraphedHooks(task, self._simulations.view, self._device)
            self._episodes.task = hooks
        self._numpy = self._own_options.output == "numpy"
        self.device = self._device.name
        self.buffers = self._simulations.buffers
        room = {"nconmax": self.buffers.nconmax, "njmax": self.buffers.njmax}
        self._own_options = dataclasses.replace(self._own_options, **room)

    def _simulate(self, varying: Varying | None) -> Worlds:
        options = self._own_options
        nconmax, njmax = options.nconmax, options.njmax
        task, model = self.task, self.model

        def scratch() -> Single:
            return Worlds.scratch(model, task.varies, varying)

        def start(i: int, simulation: Any) -> None:
            rng = np.random.default_rng(i)
            if varying is None:
                simulation.restore_defaults()
            else:
                values = varying.draw(rng, 0)
                simulation.restore_defaults(lambda model: varying.write(model, values))
            initialize(task, simulation, rng)

        sample = scratch()
        if nconmax is None or njmax is None:
            sizes = measured(sample, start, substeps(task, model))
            nconmax = sizes.nconmax if nconmax is None else nconmax
            njmax = sizes.njmax if njmax is None else njmax
        else:
            start(0, sample)  # which tells what a start runs
        room = Buffers(nconmax, njmax)
        threads = options.start_threads
        if threads is None:  # a thread for Python alone would hold up this one
            threads = int(self._device.is_cuda and sample.view.longest >= MIN_STEPS)
        # With variation, starts are not drawn ahead: a state holds the episode's drawn values.
        starts = Starts(scratch, self._generator_state, 0 if varying is not None else threads)
        return Worlds(
            model,
            self.num_envs,
            self._device,
            room,
            starts,
            task.varies,
            varying,
            deterministic=options.deterministic,
            lagging=task.lagging,
        )

    def _open_cameras(self, bound: BoundTask) -> "DeviceCameras":
        cameras = DeviceCameras(bound, self._options)
        for image in self._options.pictures(self.model).values():
            cameras.check(image)
        return cameras

    def _generator_state(self, i: int) -> np.ndarray:
        return generators.encode(self._rng(i))

    def _recall_starts(self) -> None:
        for i in range(self.num_envs):
            before = self._simulations.starts.forget(i)
            if before is not None:
                generators.decode(self._rng(i), before)

    def enter(self) -> AbstractContextManager[None]:
        return self._device.use()

    def to_output(self, values: Any) -> Any:
        return _arrays(values) if self._numpy else self._tensors(values)

    def step(self, actions: Any) -> Any:
        """Advance by one control step; see `VectorEnv.step`.

        With `autoreset_mode="SameStep"` and tensors, `info["final_obs"]` holds an observation per
        sub-environment, meaningful where `info["_final_obs"]` is True.
        """
        observation, rewards, *flags, info = super().step(actions)
        self._steps_made += 1
        if self._steps_made % LOOK_EVERY == 0:
            with self.enter():
                self._tell_overflow()
        if self._numpy:
            rewards = rewards.astype(np.float64)  # as in Gymnasium's vector environments
            info = shown_entries(info)
        return observation, rewards, *flags, info

    def checked_mask(self, mask: Any, n: int) -> np.ndarray:
        return super().checked_mask(_arrays(mask), n)

    def checked_actions(self, actions: Any, shape: tuple[int, ...]) -> torch.Tensor:
        """Actions as a tensor on the device; tensors are not checked for finite numbers."""
        if not isinstance(actions, torch.Tensor):
            actions = torch.as_tensor(check_action(actions, shape))
        if tuple(actions.shape) != shape:
            raise ValueError(f"action: expected shape {shape}, got {tuple(actions.shape)}")
        if actions.is_complex() or actions.dtype == torch.bool:
            raise ValueError(f"action: expected real numbers, got dtype {actions.dtype}")
        return actions.to(self._device.torch, torch.float32)

    def _prepare(self, actions: Any) -> tuple[torch.Tensor, int]:
        actions = self.checked_actions(actions, self._action_shape)
        started = self._episodes.started
        missing, ended, bad = torch.stack(
            [(~started).sum(), self._done.sum(), (~torch.isfinite(actions)).sum()]
        ).tolist()
        if missing:
            self._refuse_unstarted()
        if bad:
            check_action(actions.cpu().numpy(), self._action_shape)  # names the first
        return actions, ended

    def _final(self, observation: Any, ended: torch.Tensor) -> Any:
        if self._numpy:
            return rows_of(self.to_output(observation), self.to_output(ended))
        return copy_observation(observation)

    @property
    def nbytes(self) -> int:
        """Bytes on the device that hold the worlds, without temporary memory of a step."""
        self._check_open()
        return int(self._simulations.nbytes())

    def _tell_overflow(self) -> None:
        if self._overflow_told or not (missing := self._simulations.overflow()):
            return
        self._overflow_told = True
        warnings.warn(
            f"{type(self.task).__name__}: the device had no room for all {missing}; the rest was"
            " left out. Give make_vec a larger one",
            BufferWarning,
            stacklevel=3,
        )

    # Output conversion.

    def _tensors(self, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: self._tensors(value) for name, value in values.items()}
        if isinstance(values, tuple):
            return tuple(self._tensors(value) for value in values)
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            tensor = torch.as_tensor(values, device=self._device.torch)
            return tensor.float() if tensor.dtype == torch.float64 else tensor
        return values


class DeviceCameras(Cameras):
    """Renders episodes on the device for observations, and by OpenGL for people."""

    @functools.cached_property
    def _pictures(self) -> Pictures:
        simulation: Any = self._simulation
        shadows = self._options.render_quality == "reference"
        pictures: Pictures = simulation.pictures(self._task.model().compile(), shadows=shadows)
        return pictures

    def check(self, image: Image) -> None:
        """Refuse an image that the device cannot render."""
        if image.camera == -1:
            raise NotImplementedError(
                "pixels: camera -1: the device has no free camera; name one of the model's"
            )
        if self._task.colours(self._simulation.view):
            name = type(self._task).__name__
            raise NotImplementedError(
                f"pixels: images on the device do not show the colours of {name};"
                ' backend="mujoco" draws them'
            )
        _ = self._pictures

    def show(self, image: Image, rewards: np.ndarray | None, mask: Any = None) -> torch.Tensor:
        """Images of all sub-environments, even unmasked ones: the device renders them together."""
        camera = self._simulation.model.camera(image.camera).id
        hidden = image.hidden_groups
        return self._pictures.draw(camera, image.width, image.height, image.kind, hidden)

    def close(self) -> None:
        self.__dict__.pop("_pictures", None)
        super().close()


def _arrays(values: Any) -> Any:
    return mapped(values, lambda tensor: tensor.cpu().numpy())
