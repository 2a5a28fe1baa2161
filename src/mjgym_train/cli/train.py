"""`mjgym train`: learn a task, into a folder."""

import contextlib
import dataclasses
import functools
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mjgym.cli import shared_options, task_arguments
from mjgym.cli.ids import ANY_ID, MODULE, import_named, load
from mjgym.cli.output import console, facts, progress, refusing, require, say
from mjgym.util import code_references
from mjgym.util.bounded import FileError
from mjgym.util.packaged import assets
from mjgym.util.suggestions import or_else
from mjgym_train.cli.seeds import run_each, seeds_of
from mjgym_train.learn.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from mjgym_train.config import Config
    from mjgym_train.learn.trainer import Progress
    from mjgym_train.run import Run

MINUTES = 30.0  # of a run whose budget is not given
NUMBERS = ("data", "seed", "steps", "minutes", "cpu_minutes")  # settings with an option
PRINT_SECONDS = 60.0  # between two lines of progress where there is no terminal


def _settings(context: typer.Context, incomplete: str) -> list[str]:
    from mjgym.policies.run_errors import ConfigError
    from mjgym_train.learn import algorithms

    try:
        config = algorithms.find(str(context.params.get("algorithm") or "")).Config
    except (ConfigError, ImportError):  # torch may be missing
        return []
    return shared_options.beginning(incomplete, [f"{f.name}=" for f in dataclasses.fields(config)])


Trust = Annotated[
    bool,
    typer.Option("--trust", help="Run code outside this package that settings in files name."),
]


def train(
    context: typer.Context,
    algorithm: Annotated[
        str,
        typer.Argument(
            help=f'{", ".join(ALGORITHMS)}, or "module:Class" for your own.',
            autocompletion=lambda incomplete: shared_options.beginning(incomplete, ALGORITHMS),
        ),
    ],
    id: Annotated[str, ANY_ID],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help='Settings of training, e.g. n_step=5; "mjgym guide training" lists them.',
            autocompletion=_settings,
        ),
    ] = None,
    set: shared_options.Settings = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            help="A YAML file of settings, or the name of a packaged one, e.g. fast; repeatable,"
            " later ones win.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A dataset, or a run's folder (its replay buffer): all that bc, td3_bc and iql"
            ' learn from, and half of each batch of sac, td3, ddpg and d4pg; see "mjgym guide'
            ' demonstrations".',
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
    trust: Trust = False,
    ray: Annotated[
        bool,
        typer.Option(
            "--ray", help='Samplers and a trainer as processes of Ray, see "mjgym guide cluster".'
        ),
    ] = False,
    samplers: Annotated[
        int | None, typer.Option(min=1, help="With --ray: number of sampler processes. Default: 2.")
    ] = None,
    trainers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --ray: independent trainers, which learn from the steps of all samplers;"
            ' seeds follow on --seed, and --out gets "_SEED". Default: 1.',
        ),
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
    from mjgym.policies.run_errors import ConfigError

    if ray:
        require("ray", extra="ray")
    for wrong, complaint in (
        (samplers is not None and not ray, "--samplers is for --ray"),
        (trainers is not None and not ray, "--trainers is for --ray"),
        (address is not None and not ray, "--address is for --ray"),
        (jobs is not None and seeds is None, "--jobs is for --seeds"),
        (seeds and (seed is not None or ray), "--seeds goes with neither --seed nor --ray"),
        (resume and overwrite, "give either --resume or --overwrite"),
    ):
        if wrong:
            raise typer.BadParameter(complaint)
    files = [_settings_file(path) for path in config or []]
    # In config.yaml and in settings, arguments of the task stand below "env".
    settings = [
        *(settings or []),
        *(f"env.{n}={text}" for n, text in task_arguments.pairs(set).items()),
    ]
    budgets = {"steps": steps, "minutes": minutes, "cpu_minutes": cpu_minutes}
    numbers = {"data": data, "seed": seed, **budgets}
    given = {name: value for name, value in numbers.items() if value is not None}
    given |= {"algorithm": algorithm, "id": id, "module": _module(id, context)}
    import_own({"algorithm": algorithm})
    with refusing(ConfigError, FileError):
        prepare = _resumed if resume else functools.partial(_new, overwrite=overwrite)
        if seeds is None and trainers is None:
            prepared = [prepare(out, files, settings, given, trust=trust)]
            cluster = {"samplers": samplers or 2, "address": address} if ray else {}
            _run(prepared, resume, overwrite, cluster)
            return
        words = {"--resume": resume, "--overwrite": overwrite, "--trust": trust}
        flags = [name for name, on in words.items() if on]
        commands, prepared = {}, []
        first, count = seed or 0, trainers or 0
        for each in seeds_of(seeds, "'--seeds'") if seeds else range(first, first + count):
            own = {**given, "seed": each}  # all are checked before any run begins
            folder = None if out is None else out.with_name(f"{out.name}_{each}")
            prepared.append(prepare(folder, files, settings, own, trust=trust))
            commands[each] = [*_command_words(prepared[-1][0], files, settings, own), *flags]
        if trainers is not None:
            from mjgym_train.learn.algorithms import members

            cluster = {"samplers": samplers or max(2, count), "address": address}
            pairs = enumerate(prepared)
            prepared = [(run, members.apart(chosen, k, count)) for k, (run, chosen) in pairs]
            _run(prepared, resume, overwrite, cluster)
            return
        if not run_each(commands, jobs or 1):
            raise typer.Exit(1)


def _settings_file(path: Path) -> Path:
    """Path of a settings file; a bare name that is no file here means a packaged one."""
    if path.is_file() or path.name != str(path):
        return path
    known = {file.stem: file for file in (assets() / "training").glob("*.yaml")}
    name = path.name.removesuffix(".yaml")
    if name not in known:
        complaint = f"there is no file {path}, and no packaged one{or_else(name, known)}"
        raise typer.BadParameter(complaint, param_hint="'--config'")
    return known[name]


def _command_words(
    run: "Run", files: list[Path], settings: list[str], given: dict[str, Any]
) -> list[str]:
    module = f"{given['module']}:" if given["module"] else ""
    named = [(f"--{name.replace('_', '-')}", given[name]) for name in NUMBERS if name in given]
    named += [("--config", file) for file in files] + [("--out", run.path)]
    flat = [str(word) for option in named for word in option]
    return ["train", given["algorithm"], f"{module}{given['id']}", *settings, *flat]


# Build.


def _new(
    out: Path | None,
    files: list[Path],
    settings: list[str],
    given: dict[str, Any],
    *,
    overwrite: bool,
    trust: bool,
) -> "tuple[Run, Config]":
    """A new run; nothing is written yet."""
    from mjgym.policies.run_errors import ConfigError
    from mjgym_train.config import BUDGETS, DataSettings, read
    from mjgym_train.learn import algorithms
    from mjgym_train.learn.training import check
    from mjgym_train.run import Run

    cls = algorithms.find(given["algorithm"]).Config
    if "data" in given and not issubclass(cls, DataSettings):
        raise ConfigError(
            f"data: {given['algorithm']} learns from its own steps alone; bc, td3_bc, iql, sac,"
            " td3, ddpg and d4pg take a dataset"
        )
    _require_trusted(_contents(files), settings, trust)
    config = read(cls, files, settings, **given)
    if all(getattr(config, name) is None for name in BUDGETS):
        config = dataclasses.replace(config, minutes=MINUTES)
    import_own(vars(config))
    check(config)
    run = Run(out or default_folder(config.algorithm, config.id, config.seed))
    if not overwrite:
        run.require_new()
    return run, config


def _resumed(
    out: Path | None, files: list[Path], settings: list[str], given: dict[str, Any], *, trust: bool
) -> "tuple[Run, Config]":
    """A run that continues, possibly with changed settings such as a longer budget."""
    from mjgym.policies.run_errors import ConfigError, RunError
    from mjgym_train.config import BUDGETS, differences, read
    from mjgym_train.learn import algorithms
    from mjgym_train.run import Run

    for text in settings:
        if "=" not in text:
            raise ConfigError(
                f"{text!r} is not of the form name=value; --out names the run to resume"
            )
    folder = out or default_folder(given["algorithm"], given["id"], given.get("seed", 0))
    run = Run(folder)
    kept = run.settings()
    for name in ("algorithm", "id"):
        if kept[name] != given[name]:
            raise RunError(f"{folder} is a run of {kept[name]}, not of {given[name]}")
    kept |= {"module": "", "algorithm": ""}  # both are on the command line
    _require_trusted({run.config_file: kept, **_contents(files)}, settings, trust)
    cls = algorithms.find(given["algorithm"]).Config
    if set(BUDGETS) & set(given):
        given = dict.fromkeys(BUDGETS) | given
    try:
        before = read(cls, [run.config_file])
    except ConfigError as error:
        raise RunError(str(error)) from None
    config = read(cls, [run.config_file, *files], settings, **given)
    if different := differences(config, before):
        raise RunError(
            f"{folder} cannot be continued with other settings: {'; '.join(different)}. Leave"
            " them out, or begin another run with --out"
        )
    import_own(vars(config))
    return run, config


def _contents(files: list[Path]) -> dict[Path, dict[str, Any]]:
    from mjgym.policies.settings_files import entries

    return {file: {name: value for name, value, _ in entries(file)} for file in files}


def _require_trusted(
    contents: dict[Path, dict[str, Any]], settings: list[str], trust: bool
) -> None:
    """Refuse code that files name and the command line does not repeat."""
    from mjgym_train.config import value_of
    from mjgym_train.run import code_of

    named = code_references.outside([value_of(text.partition("=")[2]) for text in settings])
    for file, content in contents.items():
        require_trust(file, [text for text in code_of(content) if text not in named], trust)


def require_trust(file: Path, code: list[str], trust: bool) -> None:
    """Refuse to run code that a file names unless the user asked for it."""
    if code and not trust:
        raise typer.BadParameter(
            f"{file} names code outside this package: {', '.join(code)}. If you trust it, run it"
            " with --trust"
        )


def import_own(settings: Mapping[str, Any]) -> None:
    """Import the user's modules that a run needs, from the working folder too."""
    from mjgym_train.run import code_of_learner

    for module in code_of_learner(settings):
        import_named(module)


def _module(id: str, context: typer.Context) -> str:
    from mjgym import registry

    if id not in registry.ids():
        return str(context.meta.get(MODULE, ""))
    name = registry.registration(id).task_class.__module__
    if name.startswith("mjgym."):
        return ""
    return str(getattr(sys.modules[name], "__file__", None) or name)


def default_folder(algorithm: str, id: str, seed: int) -> Path:
    task = re.sub(r"-v\d+$", "", id.rpartition("/")[2])
    return Path("runs") / f"{algorithm.rpartition(':')[2].lower()}_{task}_{seed}"


# Run.


Prepared = list[tuple["Run", "Config"]]  # the run, or those of trainers side by side


def _run(prepared: Prepared, resume: bool, overwrite: bool, cluster: dict[str, Any]) -> None:
    first: Progress | None = None
    printed = time.monotonic()
    config = prepared[0][1]
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(progress("{task.percentage:.0f} %", "{task.fields[state]}"))
        for run, _ in prepared:
            stack.enter_context(run.held())
        task = bar.add_task(config.id, total=1.0, state="")

        def show(now: "Progress") -> None:
            nonlocal first, printed
            first = first or now
            if not bar.disable:
                bar.update(task, completed=now.fraction, state=_state(first, now))
            elif time.monotonic() - printed >= PRINT_SECONDS:
                printed = time.monotonic()
                say(f"{config.id}  {now.fraction:.0%}  {_state(first, now)}", stderr=True)

        new = [run for run, _ in prepared if not resume and not (run.begun and overwrite)]
        for run in new:  # another process may have trained here since the folder was looked at
            run.require_new()
        try:
            ends = _trained(prepared, resume, cluster, show)
        except BaseException:
            for run in new:
                if not run.begun:
                    run.clear()  # of a start that has failed, which shall not be in the way
            raise
    for (run, own), end in zip(prepared, ends, strict=True):
        _print(run, own, end)


def _trained(
    prepared: Prepared, resume: bool, cluster: dict[str, Any], show: Any
) -> "list[Progress]":
    from mjgym_train.learn import writers
    from mjgym_train.learn.training import make_trainer

    (run, config), *others = prepared
    writers.check(config)
    if cluster:
        from mjgym_train.learn.cluster import ClusterTrainer

        def setup() -> None:
            if config.module:
                load(config.module)
            import_own(vars(config))

        made = ClusterTrainer(
            run, config, others=others, resume=resume, show=show, setup=setup, **cluster
        )
        if not resume:  # not before it is known that the new ones can begin
            for folder, _ in prepared:
                folder.clear()
        return made.train()
    trainer = make_trainer(run, config, resume=resume, show=show)
    if not resume:
        run.clear()
    run.keep(config)
    return [trainer.train()]


def _state(first: "Progress", now: "Progress") -> str:
    seconds = max(now.seconds - first.seconds, 1e-9)
    score = now.score if now.score is not None else now.training_return
    done = now.fraction - first.fraction
    left = (1 - now.fraction) * seconds / done if done > 0 else None
    return "  ".join(
        (
            "no episode has ended yet" if score is None else f"return {score:.0f}",
            f"{now.env_step:,} steps",
            f"{(now.env_step - first.env_step) / seconds:,.0f} steps/s",
            f"{(now.updates - first.updates) / seconds:,.0f} updates/s",
            "" if left is None else f"{left / 60:.0f} min left",
        )
    )


# Print.


def _print(run: "Run", config: "Config", final: "Progress") -> None:
    from mjgym_train.run import code_of

    out, folder = console(), run.path
    episodes = config.evaluation_episodes
    score = "" if final.score is None else f"{final.score:.1f}"
    about = {
        "run": str(folder),
        "steps": f"{final.env_step:,}",
        "updates": f"{final.updates:,}",
        "minutes": f"{final.seconds / 60:.1f}",
        "return": score and f"{score}, last evaluation in training, {episodes} episodes",
    }
    out.print(facts(about))
    if final.fraction < 1:
        out.print("it was stopped before its end: continue it with --resume", soft_wrap=True)
    else:
        trust = " --trust" if code_of(vars(config)) else ""
        text = f"next: mjgym evaluate {folder}{trust} (the score: 100 episodes with other seeds)"
        out.print(text, style="dim", soft_wrap=True)
