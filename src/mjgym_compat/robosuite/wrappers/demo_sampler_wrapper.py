"""Episodes that start in states of demonstrations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.datasets.hdf5_files import h5py
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.wrappers.wrapper import Wrapper

SCHEMES = ("random", "uniform", "forward", "reverse")


class DemoSamplerWrapper(Wrapper):
    """Start episodes in states of demonstrations.

    A scheme is drawn for each episode: "random" is an ordinary start; "uniform" is any state of a
    demonstration; "forward" is a state of a window at its beginning and "reverse" at its end, which
    grow by `open_loop_window_increment` states after `open_loop_increment_freq` draws.

    Args:
        demo_path: the folder with `demo.hdf5`.
        num_traj: number of demonstrations, drawn once; -1 for all.
        scheme_ratios: probability of each scheme.
    """

    def __init__(
        self,
        env: Any,
        demo_path: str | Path,
        need_xml: bool = False,
        num_traj: int = -1,
        sampling_schemes: Sequence[str] = ("uniform", "random"),
        scheme_ratios: Sequence[float] = (0.9, 0.1),
        open_loop_increment_freq: int = 100,
        open_loop_initial_window_width: int = 25,
        open_loop_window_increment: int = 25,
    ) -> None:
        super().__init__(env)
        for scheme in sampling_schemes:
            if scheme not in SCHEMES:
                raise ValueError(f"sampling_schemes: no {scheme!r}{or_else(scheme, SCHEMES)}")
        ratios = np.asarray(scheme_ratios, float)
        fit = ratios.shape == (len(sampling_schemes),) and (ratios > 0).all()
        if not (fit and np.isclose(ratios.sum(), 1.0)):
            raise ValueError(f"scheme_ratios: {scheme_ratios} are no shares of {sampling_schemes}")
        self.sampling_schemes, self.scheme_ratios = tuple(sampling_schemes), ratios
        self.demo_path = str(demo_path)
        self.demo_file = h5py().File(Path(demo_path) / "demo.hdf5", "r")
        recorded, name = self.demo_file["data"].attrs["env"], type(self.unwrapped).__name__
        if recorded != name:
            raise ValueError(f"demo_path: demonstrations of {recorded!r}, not of {name!r}")
        self._rng = np.random.default_rng()
        self.demo_list = list(self.demo_file["data"])
        if num_traj > 0:
            self.demo_list = self._rng.permutation(self.demo_list)[:num_traj].tolist()
        self.need_xml = need_xml
        self.demo_sampled = 0
        self.open_loop_increment_freq = open_loop_increment_freq
        self.open_loop_window_size = open_loop_initial_window_width
        self.open_loop_window_increment = open_loop_window_increment

    def reset(self) -> Any:
        """Start an episode; returns its observation."""
        drawn = self.sample()
        if drawn is None:
            return self.env.reset()
        state, xml = drawn if self.need_xml else (drawn, None)
        if xml is not None:
            self.env.reset_from_xml_string(xml)
        else:
            self.env.reset()
        self.env.sim.set_state_from_flattened(state)
        self.env.sim.forward()
        return self.env._get_observations(force_update=True)

    def sample(self) -> Any:
        """A state of a demonstration, with its model if needed; None for an ordinary start."""
        scheme = self._rng.choice(self.sampling_schemes, p=self.scheme_ratios)
        if scheme == "random":
            return None
        episode = self.demo_file["data"][self._rng.choice(self.demo_list)]
        count = len(episode["states"])
        window = count if scheme == "uniform" else min(self.open_loop_window_size, count)
        first = count - window if scheme == "reverse" else 0
        state = episode["states"][first + int(self._rng.integers(window))]
        if scheme != "uniform":
            self._grow(count)
        return (state, str(episode.attrs["model_file"])) if self.need_xml else state

    def _grow(self, count: int) -> None:
        self.demo_sampled += 1
        if self.demo_sampled >= self.open_loop_increment_freq:
            self.demo_sampled = 0
            if self.open_loop_window_size < count:
                self.open_loop_window_size += self.open_loop_window_increment
