"""Learning from images on a GPU: several trainers at once, for a time.

    python benchmarks/pixels_on_gpu.py --seconds 300 --out FOLDER
    python benchmarks/pixels_on_gpu.py dmc/walker-walk-v0 --seconds 600
    python benchmarks/pixels_on_gpu.py dmc/cartpole-balance-v0 --device cpu --seconds 60 \
        num_envs=4 batch_size=8 learning_starts=64

Each id is a process of `mjgym train td3 ID --config pixels_on_gpu`, with further settings from the
command line. All end when the time is over, and keep their policies. `--out` gets a line of JSON
for each id in `pixels.jsonl`, with commit, device and versions, and an archive of each run's folder
and output: what `mjgym evaluate` needs, on a machine with OpenGL. In the end come returns of
episodes that the device draws itself.
"""

import argparse
import subprocess
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comparison.command import RESULTS
from comparison.on_device import Lines

from mjgym_train import evaluation
from mjgym_train.cli.seeds import MJGYM
from mjgym_train.gymnasium_envs import make_envs
from mjgym_train.metrics import TRAINING_RETURN
from mjgym_train.run import Run

IDS = (
    *("dmc/cartpole-swingup-v0", "dmc/ball_in_cup-catch-v0"),
    *("dmc/walker-stand-v0", "dmc/finger-spin-v0"),
)
EPISODES = 20  # for a score on the device
END_SECONDS = 20.0  # that a trainer has to write its policy


@dataclass
class Trainer:
    """A process that trains on an id, and its folder."""

    id: str
    folder: Path
    settings: Sequence[str]
    process: Any = field(init=False)

    @property
    def log(self) -> Path:
        """File of the process's output."""
        return self.folder.with_suffix(".log")

    def begin(self, minutes: float) -> None:
        """Start, in place of what was there."""
        command = [*MJGYM, "train", "td3", self.id, "--config", "pixels_on_gpu", *self.settings]
        command += ["--minutes", f"{minutes:.3f}", "--out", str(self.folder), "--overwrite"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def wait(self) -> None:
        """Wait for the policy of a trainer that has been asked to end."""
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def facts(self) -> dict[str, Any]:
        """Steps, updates and returns of the run."""
        run = Run(self.folder)
        last = self.log.read_text().strip().splitlines()[-1:]
        measured = run.metrics() if run.metrics_file.exists() else []
        if not measured or not run.policy_file.exists():
            raise RuntimeError(last[0] if last else "no output")
        returns = [metric.value for metric in measured if metric.metric == TRAINING_RETURN]
        return {
            "seconds": measured[-1].wall_s,
            "env_steps": measured[-1].env_step,
            "updates": measured[-1].updates,
            "training_returns": [round(value, 1) for value in returns],  # with noise
        }

    def scored(self) -> dict[str, Any]:
        """Returns of some episodes of the policy, with images drawn by the device."""
        run = Run(self.folder)
        envs = make_envs(self.id, EPISODES, 1, **run.settings()["env"], output="numpy")
        returns = evaluation.evaluate(run.policy(), envs, evaluation.SEEDS[:EPISODES]).returns
        envs.close()
        return {"mean": float(returns.mean()), "returns": returns.round(1).tolist()}

    def pack(self) -> None:
        """Write the run's folder and output into an archive beside it."""
        with tarfile.open(self.folder.with_suffix(".tar.gz"), "w:gz") as archive:
            for path in (self.folder, self.log):
                if path.exists():
                    archive.add(path, path.name)


def train(trainers: Sequence[Trainer], seconds: float) -> None:
    """Run all trainers until the time is over."""
    for trainer in trainers:
        trainer.begin(seconds / 60)
    time.sleep(seconds)
    for trainer in trainers:
        trainer.process.terminate()
    for trainer in trainers:
        trainer.wait()


def main() -> None:
    """Train, measure and pack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="ID | NAME=VALUE", help="ids, and settings")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=300.0, help="of training, starts included")
    parser.add_argument("--out", type=Path, default=RESULTS / "pixels_on_gpu")
    given = parser.parse_intermixed_args()
    settings = [f"env.device={given.device}", *(word for word in given.words if "=" in word)]
    ids = [word for word in given.words if "=" not in word] or list(IDS)
    lines = Lines(given.out / "pixels.jsonl", given.device)
    names = {id: id.rpartition("/")[2].rpartition("-")[0] for id in ids}
    trainers = [Trainer(id, given.out / name, settings) for id, name in names.items()]
    train(trainers, given.seconds)
    for trainer in trainers:
        with lines.told("pixels", id=trainer.id):
            lines.add("pixels", id=trainer.id, **trainer.facts())
        trainer.pack()
    for trainer in trainers:
        with lines.told("score", id=trainer.id):
            lines.add("score", id=trainer.id, **trainer.scored())


if __name__ == "__main__":
    main()
