"""`mjgym train`: learn a task, into a folder."""

import dataclasses
import functools
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli.ids import ID, ModuleError, load
from mjgym.cli.output import console, facts
from mjgym.train.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from mjgym.train.trainer import Progress

MINUTES = 30.0  # of a run whose budget is not given


def train(
    algorithm: Annotated[
        str,
        typer.Argument(help=f'{", ".join(ALGORITHMS)}, or "module:Class" for your own.'),
    ],
    id: Annotated[str, ID],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help='Settings, e.g. n_step=5 or env.speed=2; "mjgym guide training" lists them.',
        ),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(help="A YAML file of settings; repeatable, later ones win.", dir_okay=False),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Budget in environment steps, summed over sub-environments."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.001, help="Budget in minutes of wall-clock time. Default: 30."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder. Default: runs/ALGORITHM_TASK_SEED.", file_okay=False),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the folder's last checkpoint.")
    ] = False,
    ray: Annotated[
        bool,
        typer.Option(
            "--ray", help='Samplers and a trainer as processes of Ray, see "mjgym guide cluster".'
        ),
    ] = False,
    samplers: Annotated[
        int | None, typer.Option(min=1, help="With --ray: number of sampler processes. Default: 2.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help='With --ray: address of the cluster, "auto" or ray://... Default: this machine.'
        ),
    ] = None,
) -> None:
    """Train a policy, and write settings, metrics, checkpoint and policy to a run folder.

    Ctrl-C stops after the current step and saves the state; --resume continues.
    """
    require("torch", "yaml")
    from mjgym.train import algorithms
    from mjgym.train.config import read
    from mjgym.train.errors import ConfigError, DivergedError, RunError
    from mjgym.train.run import Run

    if ray:
        require("ray", extra="ray")
    for name, value in (("--samplers", samplers), ("--address", address)):
        if value is not None and not ray:
            raise typer.BadParameter(f"{name} is for --ray")
    _import_own(algorithm, settings or [])
    given: dict[str, Any] = {"seed": seed, "steps": steps, "minutes": minutes}
    given = {name: value for name, value in given.items() if value is not None}
    given |= {"algorithm": algorithm, "id": id, "module": _module(id)}
    out_, err = console(), console(stderr=True)
    try:
        cls = algorithms.find(algorithm).Config
        read_ = read(cls, config or [], settings or [], **given)
        if read_.steps is None and read_.minutes is None:
            read_ = dataclasses.replace(read_, minutes=MINUTES)
        folder = out or Path("runs") / _name(algorithm, id, read_.seed)
        run = Run(folder)
        if resume:
            read_ = _resumed(cls, run, config or [], settings or [], given)
        else:
            run.create(read_)
        cluster: dict[str, Any] = {"samplers": samplers or 2, "address": address} if ray else {}
        final = _train(run, read_, resume, cluster)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None
    except (RunError, DivergedError) as error:
        err.print(str(error), soft_wrap=True)
        raise typer.Exit(1) from None
    out_.print(
        facts(
            {
                "run": str(folder),
                "steps": f"{final.env_step:,}",
                "updates": f"{final.updates:,}",
                "minutes": f"{final.seconds / 60:.1f}",
                "return": "" if final.score is None else f"{final.score:.1f}",
            }
        )
    )
    if final.fraction < 1:
        out_.print("it was stopped before its end: go on with --resume", soft_wrap=True)
    else:
        out_.print(f"next: mjgym evaluate {folder}", style="dim", soft_wrap=True)


def require(*packages: str, extra: str = "train") -> None:
    """See whether packages of an extra are here.

    Raises:
        typer.Exit: one is missing; it has been said which.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        console(stderr=True).print(
            f'{", ".join(missing)} is not installed: pip install "mjgym[{extra}]"', soft_wrap=True
        )
        raise typer.Exit(1)


def _import_own(algorithm: str, settings: list[str]) -> None:
    """Import the modules of one's own that are named, from the working folder too."""
    critics = [text.partition("=")[2] for text in settings if text.startswith("critic=")]
    for name in (algorithm, *critics):
        if ":" in name:
            try:
                load(name.partition(":")[0])
            except ModuleError as error:
                raise typer.BadParameter(str(error)) from None


def _module(id: str) -> str:
    """The file that registers a task, if it is none of the package's."""
    from mjgym import registry

    name = registry.registration(id).task_class.__module__
    if name.startswith("mjgym."):
        return ""
    return str(getattr(sys.modules[name], "__file__", None) or name)


def _name(algorithm: str, id: str, seed: int) -> str:
    task = re.sub(r"-v\d+$", "", id.partition("/")[2])
    return f"{algorithm.rpartition(':')[2].lower()}_{task}_{seed}"


def _resumed(cls: Any, run: Any, files: list[Path], settings: list[str], given: Any) -> Any:
    """The settings of a run, with what is given now: a longer budget, for example."""
    from mjgym.train.config import read, to_yaml
    from mjgym.util import atomic

    run.settings()
    if {"steps", "minutes"} & set(given):
        given = {"steps": None, "minutes": None} | given
    config = read(cls, [run.config_file, *files], settings, **given)
    atomic.write_text(run.config_file, to_yaml(config))
    return config


def _set_up(config: Any) -> None:
    """Import what a run needs beside the package, in a process that is new."""
    if config.module:
        load(config.module)
    _import_own(config.algorithm, [f"critic={getattr(config, 'critic', '')}"])


def _train(run: Any, config: Any, resume: bool, cluster: dict[str, Any]) -> "Progress":
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    from mjgym.train.trainer import Trainer

    shown = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TextColumn("{task.fields[state]}"),
    )
    with Bar(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task(config.id, total=1.0, state="")
        first: list[Progress] = []

        def show(progress: "Progress") -> None:
            first.append(progress)
            bar.update(task, completed=progress.fraction, state=_state(first[0], progress))
            del first[1:]

        if not cluster:
            return Trainer(run, config, resume=resume, show=show).train()

        from mjgym.train.cluster import ClusterTrainer

        setup = functools.partial(_set_up, config)
        trainer = ClusterTrainer(run, config, resume=resume, show=show, setup=setup, **cluster)
        return trainer.train()


def _state(first: "Progress", now: "Progress") -> str:
    """Return, rates and time left, since this process began."""
    seconds = max(now.seconds - first.seconds, 1e-9)
    score = now.score if now.score is not None else now.training_return
    done = now.fraction - first.fraction
    left = (1 - now.fraction) * seconds / done if done > 0 else None
    return "  ".join(
        (
            f"return {'-' if score is None else f'{score:.0f}'}",
            f"{(now.env_step - first.env_step) / seconds:,.0f} steps/s",
            f"{(now.updates - first.updates) / seconds:,.0f} updates/s",
            "" if left is None else f"{left / 60:.0f} min left",
        )
    )
