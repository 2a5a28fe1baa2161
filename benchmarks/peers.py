"""Time mjgym against EnvPool, dm_control and the engine's loop, on this machine.

    python benchmarks/peers.py                              # all ids, about an hour
    python benchmarks/peers.py --quick                      # a handful of them
    python benchmarks/peers.py dmc/walker-walk-v0 dmc/cartpole-swingup-v0 --num-envs 256
    python benchmarks/peers.py --only bare dm_control single  # ten minutes
    python benchmarks/peers.py dmc/walker-walk-v0 --memory  # memory, creation and import time

    python benchmarks/peers.py --gymnasium --num-envs 64      # Gymnasium's own tasks

It makes a separate virtual environment (or reuses an existing one), installs this checkout
and the peers into it, and runs itself there. For each id, seven subjects are timed:

- **batch**: `gymnasium.make_vec` with all allowed cores, all else at its defaults;
- **EnvPool**: the same task, as many sub-environments and threads;
- **limit**: `mj_step` on our model in a loop of C++, on as many threads, with neither observation
  nor reward nor reset; a simulation's 128 steps follow one another, and stay in the cache;
- **engine**: the same with the engine's batch, which steps as many simulations by turns;
- **single**: `gymnasium.make`, one environment as a user has it;
- **bare**: its physics steps alone, a lower bound for any environment in Python;
- **dm_control**: `suite.load`, the same;
- **sync**, **async**: for `gymnasium/...`, in place of dm_control, Gymnasium's own environments in
  its `SyncVectorEnv` and `AsyncVectorEnv`. EnvPool has their version 4.

Each has a separate process, stopped while another one is timed. Repeats time all subjects in
alternating order: ratios are taken within a repeat, and their median is shown. All
get random actions drawn beforehand and are timed in mid-episode; resets are timed apart, and count
as often as an episode ends. Control steps per second are those of all sub-environments together.
"""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

from comparison import command, footprint, installation, report, subjects
from comparison.names import QUICK, check_ids, envs_for
from comparison.other_suites import GYMNASIUM, NAMESPACE
from comparison.subjects import Settings
from comparison.turns import compare_steps
from comparison.worker import WorkerError, why_not

NUM_ENVS, MEMORY_NUM_ENVS = 256, 1024
MEMORY_ID = "dmc/walker-walk-v0"
SUBJECTS: dict[str, subjects.Builder] = {
    "envpool": subjects.envpool,
    "batch": subjects.batch,
    "engine": subjects.engine,
    "limit": subjects.limit,
    "bare": subjects.bare,
    "dm_control": subjects.dm_control,
    "single": subjects.single,
    "sync": subjects.sync,
    "async": subjects.asynchronous,
}
OF_GYMNASIUM = ("envpool", "batch", "sync", "async", "limit", "single")
OF_SUITE = tuple(name for name in SUBJECTS if name not in ("sync", "async"))


def parse(arguments: Sequence[str], known: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2.

    Args:
        arguments: without the program's name.
        known: registered ids; None if they cannot be known yet.
    """
    parser = command.parser(__doc__ or "")
    parser.add_argument("ids", nargs="*", help="default: all of the published suite")
    parser.add_argument("--quick", action="store_true", help="a handful of ids")
    parser.add_argument(
        "--num-envs",
        type=int,
        help=f"sub-environments of a batch, default {NUM_ENVS} ({MEMORY_NUM_ENVS} with --memory);"
        " dogs are at most 32",
    )
    parser.add_argument(
        "--memory", action="store_true", help="memory, creation and import time instead"
    )
    parser.add_argument(
        "--gymnasium", action="store_true", help="Gymnasium's own tasks instead of the suite"
    )
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, help="subjects to time")
    options = parser.parse_args(arguments)
    if options.only is None:
        theirs = options.gymnasium or any(id.startswith(GYMNASIUM) for id in options.ids)
        options.only = list(OF_GYMNASIUM if theirs else OF_SUITE)
    if options.num_envs is None:
        options.num_envs = MEMORY_NUM_ENVS if options.memory else NUM_ENVS
    command.check(parser, options)
    if (options.quick or options.gymnasium) and options.ids:
        parser.error("--quick, --gymnasium: name ids themselves, give either")
    if options.memory and not options.ids:
        options.ids = [MEMORY_ID]
    if known is not None:
        try:
            check_ids(options.ids, known)
        except ValueError as error:
            parser.error(str(error))
        family = GYMNASIUM if options.gymnasium else NAMESPACE
        options.ids = options.ids or [
            id for id in known if id.startswith(family) and (not options.quick or id in QUICK)
        ]
    return options


def registered() -> list[str] | None:
    """Ids of the published suite and of Gymnasium's own tasks; None without mjgym."""
    try:
        from mjgym import registry
    except ImportError:
        return None
    return [id for space in (NAMESPACE, GYMNASIUM) for id in registry.ids(namespace=space)]


def time_all(options: argparse.Namespace, threads: int, unavailable: dict[str, str]) -> int:
    """Compare on all ids; files are rewritten after each, so an interruption loses nothing."""
    content: dict[str, Any] = {
        **report.circumstances(threads, options),
        "unavailable": unavailable,
    }
    title = f"{content['machine']['cpu']}, {threads} cores, {content['machine']['date'][:10]}"
    builders = {name: SUBJECTS[name] for name in SUBJECTS if name in options.only}
    results: list[report.Result] = []
    options.out.mkdir(parents=True, exist_ok=True)
    for number, id in enumerate(options.ids, 1):
        settings = Settings(id, envs_for(id, options.num_envs), threads, cpu=options.cpu)
        results.append(compare_steps(builders, settings, options, unavailable))
        ratios = [f"{name} {r['median']:.2f}" for name, r in results[-1]["ratios"].items()]
        print(f"{number}/{len(options.ids)} {id}: {', '.join(ratios) or 'nothing'}", flush=True)
        content["results"] = results
        content["summary"] = report.summary(results)
        report.write_json(options.out / "peers.json", content)
        report.plot(options.out / "peers.png", results, title)
    print(f"\n{report.text(results, unavailable)}")
    print(f"\nWritten: {options.out / 'peers.json'}, {options.out / 'peers.png'}")
    return 0 if any(r["ratios"] for r in results) else 1


def peers_file() -> str:
    """The file that loads the peers without importing its package."""
    from comparison import other_suites

    return other_suites.__file__


def weigh_all(options: argparse.Namespace, threads: int, unavailable: dict[str, str]) -> int:
    """Memory and creation of batches, ours against EnvPool's, and import times."""
    weighed: dict[str, dict[str, Any]] = {}
    for id in options.ids:
        settings = Settings(id, envs_for(id, options.num_envs), threads, cpu=options.cpu)
        weighed[id] = {"num_envs": settings.num_envs}
        for name in ("batch", "envpool"):
            if name in unavailable:
                continue
            try:
                weighed[id][name] = dataclasses.asdict(footprint.of_batch(SUBJECTS[name], settings))
            except WorkerError as error:
                print(f"{id}, {name}: {error}")

    def cells(id: str) -> list[str]:
        of = weighed[id]
        texts = [id, str(of["num_envs"])]
        for name in ("batch", "envpool"):
            known = name in of
            texts.append(f"{of[name]['bytes_per_env'] / footprint.MEGABYTE:.3f}" if known else "")
            texts.append(f"{of[name]['seconds']:.2f}" if known else "")
        return texts

    header = ("id", "N", "batch MB/env", "creation s", "EnvPool MB/env", "creation s")
    print(report.table(header, map(cells, weighed)))
    both = "import gymnasium, mujoco"
    imports = {
        "gymnasium and mujoco": footprint.import_time(both),
        "mjgym beyond these": footprint.import_time("import mjgym", both),
        "mjgym": footprint.import_time("import mjgym"),
    }
    if "envpool" not in unavailable:
        imports["envpool"] = footprint.import_time("import envpool")
    if "dm_control" not in unavailable:
        imports["dm_control.suite"] = footprint.import_time(
            "load()", f"import runpy; load = runpy.run_path({peers_file()!r})['load_dm_control']"
        )
    rows = [(name, f"{seconds:.3f}") for name, seconds in imports.items()]
    print("\n" + report.table(("import", "seconds"), rows))
    for name, reason in unavailable.items():
        print(f"Left empty: {name}: {reason}")
    options.out.mkdir(parents=True, exist_ok=True)
    report.write_json(
        options.out / "memory.json",
        {
            "machine": report.machine(threads),
            "batches": weighed,
            "import_seconds": imports,
            "unavailable": unavailable,
        },
    )
    print(f"\nWritten: {options.out / 'memory.json'}")
    return 0


def main() -> int:
    """Run the command; returns its status."""
    options = parse(sys.argv[1:], registered())
    status = command.begin(options.venv)
    if status is not None:
        return status
    from mjgym.envs.vector import allowed_cores

    unavailable = installation.refusals(options.venv)
    for peer in installation.PEERS:
        if peer not in unavailable:
            reason = why_not(peer)
            if reason is not None:
                unavailable[peer] = f"does not load: {reason}"
    for name, reason in unavailable.items():
        print(f"{name} {reason}", flush=True)
    run = weigh_all if options.memory else time_all
    return run(options, allowed_cores(), unavailable)


if __name__ == "__main__":
    sys.exit(main())
