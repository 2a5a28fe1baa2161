"""Plan of the runs: parts, tasks, methods, seeds, and commands."""

import dataclasses
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

from mjgym.util.packaged import assets
from mjgym.util.processes import answered
from mjgym_train.cli.seeds import MJGYM
from training import sb3_peer

FILES = assets() / "training"
LARGE = f"--config={FILES / 'large.yaml'}"
"""Option of the settings that were the default recipe of these runs."""

GOALS = {
    "dmc/walker-walk-v0": (950.0, 10.0),
    "dmc/walker-stand-v0": (950.0, 30.0),
    "dmc/reacher-hard-v0": (900.0, 30.0),
    "dmc/finger-spin-v0": (850.0, 30.0),
    "dmc/cartpole-swingup-v0": (840.0, 30.0),
    "dmc/ball_in_cup-catch-v0": (950.0, 30.0),
    "dmc/cheetah-run-v0": (550.0, 30.0),
}
"""Ids, the score that the default recipe is to reach, and the minutes it has for that."""

METHODS: dict[str, tuple[str, ...]] = {
    "recipe": (),
    "mean": ("critic=mean",),
    "quantile": ("critic=quantile",),
    "hyperbolic": ("discounting=hyperbolic",),
    "parameter-noise": ("exploration={gaussian: 0.7, parameter: 0.2, none: 0.1}",),
    "ensemble": ("ensemble=[{history: 1}, {history: 4}]",),
}
"""What each changes in the settings `LARGE`, whose critic is categorical."""

METHOD_IDS = ("dmc/walker-walk-v0", "dmc/cartpole-swingup-v0")
METHOD_STEPS = 30_000
PARTS = ("recipe", "methods", "peer", "ray", "walk", "candidates")
RAY_ID = "dmc/walker-walk-v0"
RAY: dict[str, tuple[str, ...]] = {
    "one process": (LARGE,),
    "ray": (LARGE, "--ray", "--samplers", "2"),
}
"""Runs whose scores are compared at equal environment steps, and their options."""

RAY_STEPS = 60_000
WALK_IDS = ("l2m/walk_planar-fast-v0", "l2m/walk_forward-fast-v0")
WALK: dict[str, tuple[str, ...]] = {
    "default": (LARGE, "action_repeat=4", "env.dense_reward=0.3", "evaluation_env.dense_reward=0"),
    "published": tuple(
        f"--config={FILES / name}.yaml" for name in ("learn_to_move", "learn_to_move_program")
    ),
    "small": (f"--config={FILES / 'learn_to_move_fast.yaml'}",),
}
"""Settings by which the walker of Learn to Move learns, and what each is given beside `td3`."""
WALK_CPU_MINUTES = 10.0
WALK_SETTINGS = ("threads=1", "tensorboard=false", "keep_buffer=false", "evaluation_episodes=1")
"""Of all of them: on these tasks every episode of a policy is the same."""

SMALL = ("hidden=[128,128]", "batch_size=128")
CANDIDATES: dict[str, tuple[str, ...]] = {
    "default": (),
    "small": SMALL,
    "small-51-atoms": (*SMALL, "atoms=51"),
    "small-large-batches": (SMALL[0],),
    "small-many-updates": (*SMALL, "updates_per_step=0.5"),
    "small-growing-updates": (*SMALL, "updates_per_step=0.1", "updates_per_step_end=0.5"),
}
"""Settings of TD3 of which the default recipe is chosen, by the mean score on some ids."""
CANDIDATE_FIRST_IDS = (
    "dmc/walker-walk-v0",
    "dmc/finger-spin-v0",
    "dmc/cheetah-run-v0",
    "dmc/hopper-hop-v0",
)
"""All candidates run on these, and the best of them on the others."""
CANDIDATE_IDS = (*CANDIDATE_FIRST_IDS, *(id for id in GOALS if id not in CANDIDATE_FIRST_IDS))
CANDIDATE_CPU_MINUTES = 5.0
CANDIDATE_SETTINGS = ("threads=1", "tensorboard=false", "keep_buffer=false")

SEEDS = (0, 1, 2)
PEERS = sb3_peer.ALGORITHMS
PEER = next(iter(PEERS))
EVALUATIONS = 40  # of a run: time resolution of reaching a score
QUICK = (
    "evaluations=2",
    "evaluation_episodes=2",
    "hidden=[8]",
    "atoms=5",
    "learning_starts=100",
    "log_every=200",
    "threads=1",
    "tensorboard=false",
    "env.max_episode_steps=25",
)
"""Settings of a look at whether it runs."""
QUICK_STEPS = 400


@dataclasses.dataclass(frozen=True)
class Job:
    """One run.

    Args:
        part: its part.
        name: of its experiment.
        id: of the task.
        seed: of the run.
        minutes: of training; None with a number of steps.
        settings: changes to the defaults.
        options: of `mjgym train`.
        steps: of training.
        cpu_minutes: CPU minutes of training.
        algorithm: of `mjgym train`, or of `PEERS`.
    """

    part: str
    name: str
    id: str
    seed: int
    minutes: float | None
    settings: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    steps: int | None = None
    cpu_minutes: float | None = None
    algorithm: str = "td3"

    def folder(self, out: Path) -> Path:
        """Folder of the run."""
        task = self.id.partition("/")[2].rpartition("-v")[0]
        return out / self.part / f"{self.name.replace(' ', '-')}_{task}_{self.seed}"

    def done(self, out: Path) -> bool:
        """Tell whether the run has its final score."""
        return (self.folder(out) / "evaluation.json").exists()

    def commands(self, out: Path) -> list[list[str]]:
        """Commands that train or continue the run, and score it."""
        folder = self.folder(out)
        budgets = {name: getattr(self, name) for name in ("minutes", "steps", "cpu_minutes")}
        budget = [
            word
            for name, value in budgets.items()
            if value is not None
            for word in (f"--{name.replace('_', '-')}", value)
        ]
        arguments = [*map(str, ("--seed", self.seed, *budget, "--out", folder))]
        if self.algorithm in PEERS:
            peer = str(Path(__file__).with_name("sb3_peer.py"))
            words = (self.id, "--algorithm", PEERS[self.algorithm])
            return [[sys.executable, peer, *words, *self.settings, *arguments]]
        train = [*MJGYM, "train", self.algorithm, self.id, f"name={self.name}"]
        train += [*self.settings, *arguments, *self.options]
        if (folder / "config.yaml").exists():
            train.append("--resume")
        return [train, [*MJGYM, "evaluate", str(folder)]]


def jobs(
    parts: Iterable[str],
    *,
    ids: Sequence[str] = (),
    methods: Sequence[str] = (),
    seeds: Sequence[int] = SEEDS,
    minutes: float | None = None,
    settings: Sequence[str] = (),
    quick: bool = False,
) -> list[Job]:
    """Runs of parts, with all seeds of a task and method in sequence.

    Args:
        parts: of `PARTS`.
        ids: of the tasks; empty for all of the part.
        methods: of the part "methods"; empty for all.
        seeds: of the runs.
        minutes: of each run without a number of steps; None for that of its goal.
        settings: of all runs but the peer's, beside those of the method.
        quick: a few seconds each, by tiny networks in short episodes, of one task.
    """
    found = []
    usual = QUICK if quick else (f"evaluations={EVALUATIONS}",)
    for part in parts:
        if part == "ray":
            found += _ray(ids, seeds, (*usual, *settings), quick)
            continue
        if part in ("walk", "candidates"):
            chosen_jobs = _walk if part == "walk" else _candidates
            found += chosen_jobs(ids, seeds, (*usual, *settings), quick)
            continue
        known = METHOD_IDS if part == "methods" else tuple(GOALS)
        steps = (QUICK_STEPS if quick else METHOD_STEPS) if part == "methods" else None
        chosen = [id for id in known if not ids or id in ids][: 1 if quick else None]
        of_part = {"recipe": ("recipe",), "peer": (PEER,), "methods": tuple(METHODS)}[part]
        for id in chosen:
            for name in of_part:
                if part == "methods" and methods and name not in methods:
                    continue
                extra: tuple[str, ...] = (*METHODS.get(name, ()), *usual, *settings)
                if part == "peer":
                    extra = ("--quick",) if quick else ()
                length = None if steps else 0.02 if quick else minutes or GOALS[id][1]
                algorithm, options = (PEER, ()) if part == "peer" else ("td3", (LARGE,))
                found += [
                    Job(part, name, id, seed, length, extra, options, steps, algorithm=algorithm)
                    for seed in seeds
                ]
    return found


def _ray(
    ids: Sequence[str], seeds: Sequence[int], settings: tuple[str, ...], quick: bool
) -> list[Job]:
    """Runs of the part "ray"."""
    if ids and RAY_ID not in ids:
        return []
    steps = QUICK_STEPS if quick else RAY_STEPS
    return [
        Job("ray", name, RAY_ID, seed, None, settings, options, steps)
        for name, options in RAY.items()
        for seed in seeds
    ]


def _walk(
    ids: Sequence[str], seeds: Sequence[int], settings: tuple[str, ...], quick: bool
) -> list[Job]:
    """Runs of the part "walk"."""
    steps, minutes = (QUICK_STEPS, None) if quick else (None, WALK_CPU_MINUTES)
    chosen = [id for id in WALK_IDS if not ids or id in ids][: 1 if quick else None]
    jobs = []
    for id in chosen:
        for name, given in WALK.items():
            options = tuple(word for word in given if word.startswith("--"))
            own = (*(word for word in given if word not in options), *WALK_SETTINGS, *settings)
            jobs += [
                Job("walk", name, id, seed, None, own, options, steps, minutes) for seed in seeds
            ]
    return jobs


def _candidates(
    ids: Sequence[str], seeds: Sequence[int], settings: tuple[str, ...], quick: bool
) -> list[Job]:
    """Runs of the part "candidates", seed by seed."""
    steps, minutes = (QUICK_STEPS, None) if quick else (None, CANDIDATE_CPU_MINUTES)
    chosen = [id for id in CANDIDATE_IDS if not ids or id in ids][: 1 if quick else None]
    return [
        Job("candidates", name, id, seed, None, (*given, *CANDIDATE_SETTINGS, *settings), (LARGE,),
            steps, minutes)
        for seed in seeds
        for name, given in CANDIDATES.items()
        for id in chosen
    ]  # fmt: skip


def whole(experiment: str) -> str:
    """Experiment of a run, from that of one agent of its ensemble."""
    known = {"recipe", *PEERS, *METHODS, *RAY, *WALK, *CANDIDATES}
    return experiment if experiment in known else experiment.rpartition(" ")[0]


def run(job: Job, out: Path) -> None:
    """Run a job to its end; finished ones are skipped, stopped ones continued.

    Raises:
        subprocess.CalledProcessError: it failed.
        SystemExit: a signal stopped it.
    """
    if job.done(out):
        return
    folder = job.folder(out)
    if job.algorithm in PEERS and folder.exists():
        shutil.rmtree(folder)  # it cannot continue
    for command in job.commands(out):
        until_stopped(command)


def until_stopped(command: Sequence[str]) -> None:
    """Run a command; a signal that ends this process lets it save its state first.

    Raises:
        subprocess.CalledProcessError: it failed.
        SystemExit: a signal has stopped it.
    """
    stopped = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = number
        process.terminate()

    # Not in this process's group, or Ctrl-C would reach it twice and interrupt it.
    with (
        subprocess.Popen(command, start_new_session=True) as process,
        answered(stop, "SIGINT", "SIGTERM", "SIGHUP"),
    ):
        code = process.wait()
    if stopped:
        raise SystemExit(128 + stopped)
    if code:
        raise subprocess.CalledProcessError(code, command)
