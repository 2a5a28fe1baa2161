"""Run a policy in an environment or a batch in real time, for a viewer."""

import enum
import functools
import math
import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.infos import TERMS
from mjgym.envs.overlays import Overlay
from mjgym.loop.states import in_simulation
from mjgym.mjcf import Spec
from mjgym.planning import Planner
from mjgym.policies.network import begin
from mjgym.rendering.looks import QUALITIES
from mjgym.rendering.twin import Twin
from mjgym.viewing.driving import Hands
from mjgym.viewing.marks import arrows, planned

BURST = 1 / 30  # s of computing, after which the viewer has its turn
LAG = 0.1  # s, by which the simulation may be late before it gives up catching up
FRAME = 1 / 60  # s, between two looks at what has been asked for
_SEEN = 192  # pixels of an observed image's shorter side on the screen, at least
PUSH = 0.5  # s, for which a force lasts that the viewer does not renew
SLOWEST = 1e-3  # of real time
MEASURED = 0.5  # s on the clock, over which the achieved pace is measured


class Command(enum.StrEnum):
    """A viewer's command."""

    PAUSE = "pause or go on"
    STEP = "one step"
    RESET = "reset"
    NEXT = "next seed"
    QUIT = "quit"


@dataclass(frozen=True)
class Progress:
    """Progress of an episode."""

    seed: int  # of its start; of the first sub-environment's in a batch
    steps: int = 0  # control steps so far; in a batch, since all were reset
    time: float = 0.0  # those in seconds of the simulation
    reward: float = 0.0  # of the last step; in a batch, the mean of the sub-environments
    # The sum of the rewards; in a batch, the mean of those of the current episodes.
    total: float = 0.0
    # The reward's, of the last step, by name; in a batch, the means.
    terms: Mapping[str, float] = field(default_factory=dict)
    paused: bool = False  # nothing moves
    # How the episode before ended, or the last ones of a batch, if by themselves; empty if not.
    ended: str = ""
    waiting: bool = False  # the episode begins once a device is used
    pace: float | None = None  # achieved multiple of real time; None until measured


class Session:
    """A simulation under a policy, as every viewer shows and steers it.

    All but `ask`, `turn` and what takes keys belongs to the thread that made it.

    Args:
        act: gives an action for an observation; `mjgym.policies.network.begin` tells it where
            episodes begin.
        seed: of the first start. A batch uses as many seeds as it has sub-environments.
        keys: what viewers pass keys to that are no commands; None if nothing is driven by hand.
            With it, each episode waits until a key or another device is used.

    Attributes:
        overlay: drawn by viewers in addition to shapes.
        scene: makes the twin's spec; pages draw no skins, windows set one that has them.
        progress: where the episode is; never changed, but replaced.
        episode: counts the starts.
        over: somebody has asked to quit.
        planner: the policy if it is a planner, else None.
    """

    def __init__(
        self,
        env: Any,
        act: Callable[[Any], np.ndarray],
        seed: int = 0,
        keys: Hands | None = None,
    ) -> None:
        self._wrapped = env
        self._act = act
        self._over = np.zeros((), bool)  # whose episode has ended with the last step of a batch
        self.keys = keys
        policy: Any = getattr(act, "wrapped", act)
        self.planner: Planner | None = policy if hasattr(policy, "knobs") else None
        self.env: Any = env.unwrapped
        self.count: int | None = getattr(self.env, "num_envs", None)
        self.overlay: Overlay = self.env.cameras.overlay
        self.scene: Callable[[], Spec] = self.env.task.model
        self.paused = False
        self.speed = 1.0
        self.episode = 0
        self._awaited = False  # a page, which must be open before anything moves
        self.over = False
        self.progress = Progress(seed)
        self._asked: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._turned: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
        self._due = 0.0  # s on the clock, when the next step is to be made
        self._clocked: tuple[float, int] | None = None  # s on the clock, and steps by then
        self._drawn: tuple[tuple[int, int], list[mujoco.MjvGeom]] = (-1, -1), []
        self._pushed: float | None = None  # s on the clock, when a force was last renewed
        self.reset(seed)

    @functools.cached_property
    def twin(self) -> Twin:
        """The textured model and data, in the state of the environment.

        In a batch, of the last sub-environment that `follow` was asked for. It is compiled when it
        is first used, so with the scene that the viewer has set.
        """
        return Twin(self.scene, self.env.model, QUALITIES["reference"])

    def ask(self, command: Command) -> None:
        """Let a command be obeyed at the next `advance`; from any thread."""
        self._asked.put(command)

    def turn(self, knob: str, value: float) -> None:
        """Change a setting of the planner at the next `advance`; from any thread."""
        self._turned.put((knob, value))

    def press(self, key: str) -> None:
        """Pass on a key that is down; from any thread."""
        if self.keys is not None:
            self.keys.press(key)

    def reset(self, seed: int, ended: str = "") -> None:
        self._observation, _ = self._wrapped.reset(seed=seed)
        begin(self._act)
        self._over = np.zeros((), bool)
        self._returns = np.zeros(self.count or ())
        if self.keys is not None:
            self.keys.begin()
        self._pushed = None
        self.episode += 1
        self.progress = Progress(
            seed, paused=self.paused, ended=ended, waiting=self.keys is not None
        )

    def next(self, ended: str = "") -> None:
        """Begin an episode from seeds that have not been used yet."""
        self.reset(self.progress.seed + (self.count or 1), ended)

    def await_page(self) -> None:
        """Pause until a page is open, so that the start is seen.

        A session that is driven by hand waits for its first key or device instead.
        """
        if self.keys is None:
            self._awaited = True
            self.pause(True)

    def attend(self, visited: bool) -> None:
        """Resume once a page is open, if the session waits for one."""
        if self._awaited and visited:
            self._awaited = False
            self.pause(False)

    def pause(self, paused: bool) -> None:
        """Pause or resume."""
        if paused != self.paused:
            self.paused = paused
            self._renew(paused=paused)

    def step(self) -> None:
        """Make one control step; a new episode begins if it is the last."""
        before = self.progress
        action = self._act(self._observation)
        self._observation, rewards, terminations, truncations, info = self._wrapped.step(action)
        if self._over.any():  # in a batch these have restarted in this step
            begin(self._act, self._over)
        self._returns = np.where(self._over, 0.0, self._returns) + rewards
        reward = float(np.mean(rewards))
        steps = before.steps + 1
        self._renew(
            waiting=False,
            steps=steps,
            time=steps * float(self.env.control_timestep),
            reward=reward,
            total=float(np.mean(self._returns)),
            terms=self._terms(info),
        )
        if self.count is not None:  # a batch restarts by itself at the next step
            self._over = np.logical_or(terminations, truncations)
            if self._over.any():
                mean = float(np.mean(self._returns[self._over]))
                which = f"{np.count_nonzero(self._over)} of {self.count} episodes end"
                self._renew(ended=f"step {steps}: {which}, mean return {mean:.2f}")
        elif terminations or truncations:
            how = "terminated" if terminations else "time limit"
            how = "diverged" if info["diverged"] else how
            self.next(f"seed {before.seed}: {how}, return {self.progress.total:.2f}")

    def _terms(self, info: dict[str, Any]) -> dict[str, float]:
        found = {}
        for key, values in info.items():
            if not key.startswith(TERMS):
                continue
            name, valued = key.removeprefix(TERMS), info.get(f"_{key}")
            if self.count is None:
                found[name] = float(values)
            elif valued is not None and valued.any():
                found[name] = float(np.mean(values[valued]))
        return found

    def _renew(self, **changes: Any) -> None:
        self.progress = Progress(**{**vars(self.progress), **changes})

    def advance(self) -> None:
        """Execute pending commands and the steps that are due."""
        start = now = time.monotonic()
        self._obey()
        if self._pushed is not None and now - self._pushed > PUSH:
            self.push(None)
        # Asked in a pause too: of reports that nobody reads, the system drops the last ones.
        touched = self.keys is not None and self.keys.touched()
        if self.progress.waiting and touched:
            self._renew(waiting=False)
        if not self._moves():
            self._due = now
        self._due = max(self._due, now - LAG)
        while self._moves() and self._due <= now and now - start < BURST:
            self.step()
            self._due += self.env.control_timestep / max(self.speed, SLOWEST)
            now = time.monotonic()
        self._clock(now)

    def _clock(self, now: float) -> None:
        """Measure the pace; a pause or a new episode starts over."""
        steps = self.progress.steps
        if not self._moves() or self._clocked is None or steps < self._clocked[1]:
            self._clocked = (now, steps) if self._moves() else None
            return
        begun, before = self._clocked
        if now - begun >= MEASURED:
            simulated = (steps - before) * float(self.env.control_timestep)
            self._renew(pace=simulated / (now - begun))
            self._clocked = now, steps

    def marks(self) -> list[mujoco.MjvGeom]:
        """Geoms to draw besides the model's: the task's arrows, the paths of a planner's plan."""
        if self.count is not None:
            return []
        at = self.episode, self.progress.steps
        if self._drawn[0] != at:
            ahead = None if self.planner is None else self.planner.ahead()
            paths = [] if ahead is None else planned(self.twin, ahead)
            self._drawn = at, [*arrows(self.twin, self.env.cameras.arrows()), *paths]
        return self._drawn[1]

    def images(self) -> list[np.ndarray]:
        """Observed images of a single environment, uint8 (height, width, 3), enlarged to be seen.

        Of a stack of frames, the newest; none in a batch.
        """
        found = self._observation
        entries = found.values() if isinstance(found, Mapping) else [found]
        images = [
            entry[-1] if entry.ndim == 4 else entry
            for entry in entries
            if self.count is None and entry.ndim >= 3 and entry.dtype == np.uint8
        ]
        return [_enlarged(image) for image in images]

    def _moves(self) -> bool:
        return not (self.paused or self.progress.waiting)

    def _obey(self) -> None:
        while not self._turned.empty() and self.planner is not None:
            self.planner.turn(*self._turned.get())
        while not self._asked.empty():
            command = self._asked.get()
            self._awaited = False
            if command is Command.PAUSE:
                self.pause(not self.paused)
            elif command is Command.STEP:
                self.pause(True)
                self.step()
            elif command is Command.RESET:
                self.reset(self.progress.seed)
            elif command is Command.NEXT:
                self.next()
            else:
                self.over = True

    def rest(self) -> float:
        """Seconds until the next step is due, a frame at most; a frame in a pause."""
        if not self._moves():
            return FRAME
        return float(np.clip(self._due - time.monotonic(), 0.0, FRAME))

    def push(self, forces: np.ndarray | None) -> None:
        """Apply forces to the bodies of a single environment, until they are renewed or end.

        Args:
            forces: as `xfrc_applied` of MjData, (nbody, 6) in N and N m; None for none.
        """
        if forces is not None and forces.any():
            self.env.data.xfrc_applied[:] = forces
            self._pushed = time.monotonic()
        elif self._pushed is not None:  # else the forces are the task's own
            self.env.data.xfrc_applied[:] = 0.0
            self._pushed = None

    def place(self, state: dict[str, np.ndarray]) -> None:
        """Write entries of the state of a single environment, e.g. a body that has been dragged."""
        self._observation = self.env.set_state(state)

    def follow(self, i: int | None = None) -> mujoco.MjData:
        """Move the twin to the current state."""
        state = self.env.get_state() if i is None else self.env.get_state([i])
        shown = {
            name: value if i is None else value[0]
            for name, value in state.items()
            if in_simulation(name)
        }
        # People can ask their viewers of one environment for contacts and forces at any time.
        self.twin.follow(shown, forces=i is None)
        return self.twin.data


def _enlarged(image: np.ndarray) -> np.ndarray:
    times = math.ceil(_SEEN / min(image.shape[:2]))
    return image.repeat(times, 0).repeat(times, 1)
