"""Recording of demonstrations in robosuite's folder layout."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from mjgym_compat.robosuite.wrappers.wrapper import Wrapper


class DataCollectionWrapper(Wrapper):
    """Write states and actions of episodes to a folder.

    Each episode with at least one step has a folder "ep_<time>" with `model.xml`, `ep_meta.json`
    and files "state_<time>.npz": `states` (from `sim.get_state().flatten()`), `action_infos` (a
    dict with "actions" per step), `successful`, and `env`, the task's name.

    Args:
        directory: the folder, created if necessary.
        collect_freq: control steps between recorded states.
        flush_freq: control steps between writes.
    """

    def __init__(
        self, env: Any, directory: str | Path, collect_freq: int = 1, flush_freq: int = 100
    ) -> None:
        super().__init__(env)
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.collect_freq, self.flush_freq = collect_freq, flush_freq
        self.ep_directory: Path | None = None
        self.states: list[np.ndarray] = []
        self.action_infos: list[dict[str, Any]] = []
        self.successful = self.has_interaction = False
        self.t = 0
        self._start: tuple[str, np.ndarray] = ("", np.empty(0))

    def reset(self) -> Any:
        self._finish()
        self.env.unset_ep_meta()
        observation = self.env.reset()
        self.t = 0
        self._start = self.env.sim.model.get_xml(), self.env.sim.get_state().flatten()
        return observation

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        self.t += 1
        if not self.has_interaction:
            self._begin()
        if self.t % self.collect_freq == 0:
            self.states.append(self.env.sim.get_state().flatten())
            self.action_infos.append({"actions": np.array(action)})
        self.successful = self.successful or bool(self.env._check_success())
        if self.t % self.flush_freq == 0:
            self._flush()
        return result

    def close(self) -> None:
        self._finish()
        self.env.close()

    def _begin(self) -> None:
        self.has_interaction = True
        self.ep_directory = self.directory / f"ep_{_stamp()}"
        self.ep_directory.mkdir()
        xml, state = self._start
        (self.ep_directory / "model.xml").write_text(xml)
        (self.ep_directory / "ep_meta.json").write_text(json.dumps(self.env.get_ep_meta()))
        self.states.append(state)

    def _finish(self) -> None:
        if self.has_interaction and self.action_infos:
            self._flush()
        self.has_interaction, self.states, self.action_infos = False, [], []

    def _flush(self) -> None:
        assert self.ep_directory is not None
        infos = np.empty(len(self.action_infos), dtype=object)
        infos[:] = self.action_infos
        np.savez(
            self.ep_directory / f"state_{_stamp()}.npz",
            states=np.array(self.states),
            action_infos=infos,
            successful=np.array(self.successful),
            env=np.array(type(self.unwrapped).__name__),
        )
        self.states, self.action_infos, self.successful = [], [], False


def _stamp() -> str:
    return str(time.time_ns())
