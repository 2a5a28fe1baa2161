"""`mjgym train`: learn a task, into a folder."""

import dataclasses
import functools
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import fields
from mjgym.cli.ids import ID, import_named, load
from mjgym.cli.output import console, facts, require
from mjgym.cli.seeds import run_each, seeds_of
from mjgym.util import code_references
from mjgym_train.cli import setting_completions
from mjgym_train.learn.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mjgym_train.config import Config
    from mjgym_train.learn.trainer import Progress
    from mjgym_train.run import Run

MINUTES = 30.0  # of a run whose budget is not given
PRINT_SECONDS = 60.0  # between two lines of progress where there is no terminal
TRUST = "Run code outside this package that settings in files name."


@dataclass(frozen=True)
class Job:
    """A run as the command line describes it.

    Args:
        run: its folder.
        config: its settings.
        resume: whether it continues from a checkpoint.
        overwrite: whether it replaces a run.
        cluster: arguments of `ClusterTrainer`; empty to train in this process.
    """

    run: "Run"
    config: "Config"
    resume: bool
    cluster: dict[str, Any]
    overwrite: bool = False


def train(
    algorithm: Annotated[
        str,
        typer.Argument(
            help=f'{", ".join(ALGORITHMS)}, or "module:Class" for your own.',
            autocompletion=setting_completions.algorithms,
        ),
    ],
    id: Annotated[str, ID],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help='Settings of training, e.g. n_step=5; "mjgym guide training" lists them.',
            autocompletion=setting_completions.settings,
        ),
    ] = None,
    set: fields.Settings = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(help="A YAML file of settings; repeatable, later ones win.", dir_okay=False),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A dataset of demonstrations: all that bc, td3_bc and iql learn from, and half of"
            ' each batch of sac, td3, ddpg and d4pg; see "mjgym guide demonstrations".',
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Budget in environment steps, summed over sub-environments; in updates where all"
            " is learned from a dataset.",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.001, help="Budget in minutes of wall-clock time. Default: 30."),
    ] = None,
    cpu_minutes: Annotated[
        float | None,
        typer.Option(min=0.001, help="Budget in CPU minutes of the process."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder. Default: runs/ALGORITHM_TASK_SEED."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(help='Several runs, one for each seed, such as "0-4"; --out gets "_SEED".'),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="With --seeds: runs side by side. Default: 1.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the folder's last checkpoint.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run that the folder holds.")
    ] = False,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST)] = False,
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
    from mjgym.policies.run_errors import ConfigError, DivergedError, RunError

    if ray:
        require("ray", extra="ray")
    for name, value in (("--samplers", samplers), ("--address", address)):
        if value is not None and not ray:
            raise typer.BadParameter(f"{name} is for --ray")
    if jobs is not None and seeds is None:
        raise typer.BadParameter("--jobs is for --seeds")
    if seeds is not None and (seed is not None or ray):
        raise typer.BadParameter("--seeds goes with neither --seed nor --ray")
    if resume and overwrite:
        raise typer.BadParameter("give either --resume or --overwrite")
    # In config.yaml and in settings, arguments of the task stand below "env".
    settings = [*(settings or []), *(f"env.{text}" for text in _named(set or []))]
    cluster: dict[str, Any] = {"samplers": samplers or 2, "address": address} if ray else {}
    given: dict[str, Any] = {
        "data": data,
        "seed": seed,
        "steps": steps,
        "minutes": minutes,
        "cpu_minutes": cpu_minutes,
    }
    given = {name: value for name, value in given.items() if value is not None}
    given |= {"algorithm": algorithm, "id": id, "module": _module(id)}
    import_own({"algorithm": algorithm})
    try:
        new = functools.partial(_new, overwrite=overwrite, trust=trust)
        make = functools.partial(_resumed, trust=trust) if resume else new
        if seeds is not None:
            words = {"--resume": resume, "--overwrite": overwrite, "--trust": trust}
            flags = [name for name, on in words.items() if on]
            commands = _commands(seeds, make, out, config or [], settings, given)
            if not run_each({k: [*words, *flags] for k, words in commands.items()}, jobs or 1):
                raise typer.Exit(1)
            return
        job = make(out, config or [], settings, given)
        job = dataclasses.replace(job, cluster=cluster)
        final = _train(job)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None
    except (RunError, DivergedError) as error:
        console(stderr=True).print(str(error), soft_wrap=True)
        raise typer.Exit(1) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        console(stderr=True).print(f"{where}{error.strerror or error}", soft_wrap=True)
        raise typer.Exit(1) from None
    _print(job, final)


def _commands(
    seeds: str,
    make: "Callable[..., Job]",
    out: Path | None,
    files: list[Path],
    settings: list[str],
    given: dict[str, Any],
) -> dict[int, list[str]]:
    """Arguments of `mjgym` for each seed, all checked before any run begins.

    Raises:
        ConfigError: a setting is wrong.
        RunError: a folder cannot be used as asked.
    """
    commands = {}
    for seed in seeds_of(seeds, "'--seeds'"):
        own = {**given, "seed": seed}
        folder = None if out is None else out.with_name(f"{out.name}_{seed}")
        commands[seed] = _words(make(folder, files, settings, own), settings, files, own)
    return commands


def _words(job: Job, settings: list[str], files: list[Path], given: dict[str, Any]) -> list[str]:
    """Arguments of `mjgym` for a single run."""
    from mjgym_train.config import BUDGETS

    module = f"{given['module']}:" if given["module"] else ""
    options = [("--config", file) for file in files]
    options += [
        (f"--{name.replace('_', '-')}", given[name])
        for name in ("data", "seed", *BUDGETS)
        if name in given
    ]
    options.append(("--out", job.run.path))
    flat = [str(word) for option in options for word in option]
    return ["train", given["algorithm"], f"{module}{given['id']}", *settings, *flat]


# Build.


def _named(settings: list[str]) -> list[str]:
    """The task arguments of --set, in the form NAME=VALUE."""
    for text in settings:
        name, equals, _ = text.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{text!r} is not of the form name=value.")
    return settings


def _new(
    out: Path | None,
    files: list[Path],
    settings: list[str],
    given: dict[str, Any],
    *,
    overwrite: bool,
    trust: bool,
) -> Job:
    """A new run; nothing is written yet.

    Raises:
        ConfigError: a setting is wrong.
        RunError: the folder holds a run, which is not to be replaced.
    """
    from mjgym.policies.run_errors import ConfigError
    from mjgym_train.config import BUDGETS, DataSettings, read
    from mjgym_train.learn import algorithms
    from mjgym_train.learn.training import check
    from mjgym_train.run import Run

    cls = algorithms.find(given["algorithm"]).Config
    if "data" in given and not issubclass(cls, DataSettings):
        raise ConfigError(
            f"data: {given['algorithm']} learns from its own latest steps alone; bc, td3_bc, iql,"
            " sac, td3, ddpg and d4pg take a dataset"
        )
    _require_trusted(files, settings, trust)
    config = read(cls, files, settings, **given)
    if all(getattr(config, name) is None for name in BUDGETS):
        config = dataclasses.replace(config, minutes=MINUTES)
    import_own(vars(config))
    check(config)
    run = Run(out or default_folder(config.algorithm, config.id, config.seed))
    if not overwrite:
        run.require_new()
    return Job(run, config, resume=False, cluster={}, overwrite=overwrite)


def _resumed(
    out: Path | None, files: list[Path], settings: list[str], given: dict[str, Any], *, trust: bool
) -> Job:
    """A run that continues, possibly with changed settings such as a longer budget.

    Raises:
        ConfigError: a setting is wrong.
        RunError: there is no run, or its checkpoint is one of other settings.
    """
    from mjgym.policies.run_errors import ConfigError, RunError
    from mjgym_train.config import BUDGETS, differences, read_run
    from mjgym_train.learn import algorithms
    from mjgym_train.run import Run, code_of

    folder = out or default_folder(given["algorithm"], given["id"], given.get("seed", 0))
    run = Run(folder)
    kept = run.settings()
    for name in ("algorithm", "id"):
        if kept[name] != given[name]:
            raise RunError(f"{folder} is a run of {kept[name]}, not of {given[name]}")
    code = code_of({**kept, "module": "", "algorithm": ""})  # both are on the command line
    require_trust(run.config_file, _unnamed(code, settings), trust)
    _require_trusted(files, settings, trust)
    cls = algorithms.find(given["algorithm"]).Config
    if set(BUDGETS) & set(given):
        given = dict.fromkeys(BUDGETS) | given
    try:
        before = read_run(cls, run.config_file)
    except ConfigError as error:
        raise RunError(str(error)) from None
    config = read_run(cls, run.config_file, files, settings, **given)
    if different := differences(config, before):
        raise RunError(
            f"{folder} cannot be continued with other settings: {'; '.join(different)}. Leave"
            " them out, or begin another run with --out"
        )
    import_own(vars(config))
    return Job(run, config, resume=True, cluster={})


def _unnamed(code: list[str], settings: list[str]) -> list[str]:
    """References to code that the command line does not repeat."""
    from mjgym_train.config import value_of

    named = code_references.outside([value_of(text.partition("=")[2]) for text in settings])
    return [text for text in code if text not in named]


def _require_trusted(files: list[Path], settings: list[str], trust: bool) -> None:
    """Refuse code that settings files name; see `require_trust`.

    Raises:
        ConfigError: a file cannot be read.
        typer.BadParameter: there is such code.
    """
    from mjgym.policies.settings_files import entries
    from mjgym_train.run import code_of

    for file in files:
        code = code_of({name: value for name, value, _ in entries(file)})
        require_trust(file, _unnamed(code, settings), trust)


def require_trust(file: Path, code: list[str], trust: bool) -> None:
    """Refuse to run code that a file names unless the user asked for it.

    Args:
        file: that names it.
        code: references to code outside the package, see `code_of`.
        trust: whether the user asked for it.

    Raises:
        typer.BadParameter: the file names code and the user does not trust it.
    """
    if code and not trust:
        raise typer.BadParameter(
            f"{file} names code outside this package: {', '.join(code)}. If you trust it, run it"
            " with --trust"
        )


def import_own(settings: "Mapping[str, Any]") -> None:
    """Import the user's modules that a run needs, from the working folder too."""
    from mjgym_train.run import code_of_learner

    for module in code_of_learner(settings):
        import_named(module)


def _module(id: str) -> str:
    """The file that registers a task, if it is not part of the package."""
    from mjgym import registry

    name = registry.registration(id).task_class.__module__
    if name.startswith("mjgym."):
        return ""
    return str(getattr(sys.modules[name], "__file__", None) or name)


def default_folder(algorithm: str, id: str, seed: int) -> Path:
    """The run folder if the user names none."""
    task = re.sub(r"-v\d+$", "", id.partition("/")[2])
    return Path("runs") / f"{algorithm.rpartition(':')[2].lower()}_{task}_{seed}"


# Run.


def _set_up(config: Any) -> None:
    """Import the user's modules in a new process."""
    if config.module:
        load(config.module)
    import_own(vars(config))


def _train(job: Job) -> "Progress":
    """Make environments and networks, write the settings, then train."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    run, config = job.run, job.config
    shown = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TextColumn("{task.fields[state]}"),
    )
    with Bar(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task(config.id, total=1.0, state="")

        def draw(progress: "Progress", state: str) -> None:
            bar.update(task, completed=progress.fraction, state=state)

        def print_line(progress: "Progress", state: str) -> None:
            shown.print(f"{config.id}  {progress.fraction:.0%}  {state}", soft_wrap=True)

        show = Shown(draw, 0) if shown.is_terminal else Shown(print_line, PRINT_SECONDS)
        with run.held():
            new = not job.resume and not (run.begun and job.overwrite)
            if new:  # another process may have trained here since the folder was looked at
                run.require_new()
            try:
                return _trained(job, show)
            except BaseException:
                if new and not run.begun:
                    run.clear()  # of a start that has failed, which shall not be in the way
                raise


def _trained(job: Job, show: "Shown") -> "Progress":
    """Train as `_train`, in a folder that is held."""
    from mjgym_train.learn import writers
    from mjgym_train.learn.training import make_trainer

    run, config = job.run, job.config
    writers.check(config)
    if not job.cluster:
        trainer = make_trainer(run, config, resume=job.resume, show=show)
        if not job.resume:  # not before it is known that the new one can begin
            run.clear()
        run.keep(config)
        return trainer.train()

    from mjgym_train.learn.cluster import ClusterTrainer

    if not job.resume:
        run.clear()
    setup = functools.partial(_set_up, config)
    cluster = ClusterTrainer(run, config, resume=job.resume, show=show, setup=setup, **job.cluster)
    return cluster.train()


class Shown:
    """Shows the progress of a run, with the rates since this process started.

    Args:
        show: called with the progress and its text.
        seconds: between two calls of it.
    """

    def __init__(self, show: "Callable[[Progress, str], None]", seconds: float) -> None:
        self._show, self._seconds = show, seconds
        self._first: Progress | None = None
        self._last = time.monotonic()

    def __call__(self, progress: "Progress") -> None:
        """Show the progress unless the last line is too recent."""
        self._first = self._first or progress
        now = time.monotonic()
        if now - self._last >= self._seconds:
            self._last = now
            self._show(progress, _state(self._first, progress))


def _state(first: "Progress", now: "Progress") -> str:
    """Return, rates and time left since this process started."""
    seconds = max(now.seconds - first.seconds, 1e-9)
    score = now.score if now.score is not None else now.training_return
    done = now.fraction - first.fraction
    left = (1 - now.fraction) * seconds / done if done > 0 else None
    return "  ".join(
        (
            f"return {'-' if score is None else f'{score:.0f}'}",
            f"{now.env_step:,} steps",
            f"{(now.env_step - first.env_step) / seconds:,.0f} steps/s",
            f"{(now.updates - first.updates) / seconds:,.0f} updates/s",
            "" if left is None else f"{left / 60:.0f} min left",
        )
    )


# Print.


def _print(job: Job, final: "Progress") -> None:
    from mjgym_train.run import code_of

    out, folder = console(), job.run.path
    episodes = job.config.evaluation_episodes
    score = "" if final.score is None else f"{final.score:.1f}"
    out.print(
        facts(
            {
                "run": str(folder),
                "steps": f"{final.env_step:,}",
                "updates": f"{final.updates:,}",
                "minutes": f"{final.seconds / 60:.1f}",
                "return": score and f"{score}, last evaluation in training, {episodes} episodes",
            }
        )
    )
    if final.fraction < 1:
        out.print("it was stopped before its end: continue it with --resume", soft_wrap=True)
    else:
        trust = " --trust" if code_of(vars(job.config)) else ""
        text = f"next: mjgym evaluate {folder}{trust} (the score: 100 episodes with other seeds)"
        out.print(text, style="dim", soft_wrap=True)
