"""Time matches of soccer against dm_control, EnvPool and the engine, here.

    python benchmarks/soccer.py                     # 64 matches, 2 against 2, boxhead and ant
    python benchmarks/soccer.py soccer/boxhead-2v2-v0 --seconds 5
    python benchmarks/soccer.py --venv FOLDER       # an environment that is there
    python benchmarks/soccer.py --python python3.12 # makes it; EnvPool's soccer needs 3.12 or newer

It makes a separate virtual environment (or reuses an existing one), installs this checkout
and its peers into it, and runs itself there. Rates are control steps of whole matches per second:

- **batch**: `make_vec`, each player a row, with random actions, against **limit**, `mj_step` on the
  same models in a loop of C++ on as many threads (see `mjgym.checks.benchmark.engine`), and
  **envpool**, as many matches on as many threads (1.2.7, for Python 3.12 or newer).
- **single**: one match of `make`, against **dm_control**, on one thread.
- **reset**: cost of starting a match, for one environment, for each of a batch, and in
  dm_control, which recompiles its model. Rendering is off.

A peer that is not installed, or fails, is left out with a line that says why.
"""

import importlib
import itertools
import os
import sys
from typing import Any

import numpy as np
from comparison import command, installation, report, subjects
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_resets, compare_steps, missing

IDS = ("soccer/boxhead-2v2-v0", "soccer/ant-2v2-v0")
NUM_ENVS = 64
PEERS = {**installation.PEERS, "envpool": "envpool==1.2.7"}


def parts(id: str) -> tuple[str, int]:
    """Walker and team size of an id."""
    walker, _, size = id.partition("/")[2].removesuffix("-v0").partition("-")
    return walker, int(size.partition("v")[0])


def dm_control(settings: Settings) -> Subject:
    """dm_control's match of the same players, with random actions.

    Raises:
        ModuleNotFoundError: dm_control is not installed.
    """
    from comparison.other_suites import drop_stale_fields

    from mjgym.checks.benchmark import CYCLE

    os.environ.setdefault("MUJOCO_GL", "egl")
    drop_stale_fields()
    soccer: Any = importlib.import_module("dm_control.locomotion.soccer")
    physics: Any = importlib.import_module("dm_control.mujoco").Physics
    physics.contexts = None  # no rendering
    walker, size = parts(settings.id)
    env = soccer.load(
        team_size=size,
        walker_type=getattr(soccer.WalkerType, walker.upper()),
        random_state=settings.seed,
    )
    env.reset()
    rng = np.random.default_rng(settings.seed)
    actions = [
        [rng.uniform(spec.minimum, spec.maximum) for spec in env.action_spec()]
        for _ in range(CYCLE)
    ]
    return Subject(
        advance=env.step,
        actions=itertools.cycle(actions),
        ended=lambda result: result.last(),
        restart=env.reset,
        reset=env.reset,
        release=env.close,
    )


def envpool(settings: Settings) -> Subject:
    """EnvPool's matches of the same players, with random actions.

    Raises:
        ModuleNotFoundError: EnvPool is not installed.
        ValueError: it has no such players.
    """
    from mjgym.checks.benchmark import CYCLE

    pool: Any = importlib.import_module("envpool")
    walker, size = parts(settings.id)
    name = f"DmcSoccer{walker.capitalize()}-v1"
    if name not in pool.list_all_envs():
        raise ValueError(f"EnvPool {pool.__version__} has no {name}")
    envs = pool.make_gymnasium(
        name,
        num_envs=settings.num_envs,
        num_threads=settings.threads,
        seed=settings.seed,
        team_size=size,
        max_num_players=2 * size,
    )
    envs.reset()
    rng = np.random.default_rng(settings.seed)
    rows = (settings.num_envs * 2 * size, *envs.action_space.shape)
    actions = [rng.uniform(-1, 1, rows).astype(envs.action_space.dtype) for _ in range(CYCLE)]
    return Subject(
        advance=envs.step,
        actions=itertools.cycle(actions),
        simulations=settings.num_envs,
        reset=envs.reset,
        release=envs.close,
    )


STEPS: dict[str, Builder] = {
    "batch": subjects.batch,
    "limit": subjects.limit,
    "envpool": envpool,
    "single": subjects.single,
    "dm_control": dm_control,
}
RESETS: dict[str, Builder] = {
    "single": subjects.single,
    "batch": subjects.batch,
    "dm_control": dm_control,
}


def text(steps: list[report.Result], resets: list[dict[str, Any]]) -> str:
    """Both tables, and missing measurements with reasons."""
    rows = []
    for row in steps:
        rates = [row["subjects"].get(name, {}).get("rate") for name in STEPS]
        rows.append((row["id"], *("" if rate is None else f"{rate:,.0f}" for rate in rates)))
    tables = [report.table(("control steps of matches per second", *STEPS), rows)]
    ratios = [
        (row["id"], name, f"{found['median']:.2f}")
        for row in (*steps, *resets)
        for name, found in row["ratios"].items()
    ]
    tables.append(report.table(("ratio", "of", ""), ratios))
    return "\n\n".join([*tables, *filter(None, [missing(steps, resets)])])


def main() -> int:
    """Run the command; returns its status."""
    of = command.family_parser(__doc__ or "", NUM_ENVS)
    command.own_environment(of, "venv-soccer")
    options = command.entered(of, PEERS)
    from mjgym import registry
    from mjgym.envs.vector import allowed_cores

    ids = options.ids or IDS
    command.chosen(ids, registry.ids(namespace="soccer"))
    threads, unavailable = allowed_cores(), installation.refusals(options.venv)
    content = report.circumstances(threads, options)
    options.out.mkdir(parents=True, exist_ok=True)
    steps: list[report.Result] = []
    resets: list[dict[str, Any]] = []
    for id in ids:
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        steps.append(compare_steps(STEPS, settings, options, unavailable))
        resets.append(compare_resets(RESETS, settings, options, "dm_control"))
        content.update(steps=steps, resets=resets)
        report.write_json(options.out / "soccer.json", content)
    print(text(steps, resets))
    print(f"\nWritten: {options.out / 'soccer.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
