"""`mjgym bench`: measure the speed of ids on this machine."""

import contextlib
import datetime
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from mjgym.cli import output, shared_options
from mjgym.cli.ids import completed, known_ids
from mjgym.util.atomic import replacing
from mjgym.util.packaged import install

_MEGABYTE = 1e6  # bytes
_WIDTH = 10  # characters of a number, at least


def bench(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID", help="The ids to measure.", callback=known_ids, autocompletion=completed
        ),
    ],
    num_envs: Annotated[
        str,
        typer.Option(help="Comma-separated batch sizes; 1 uses gymnasium.make."),
    ] = "1,256",
    seconds: Annotated[float, typer.Option(min=0.001, help="Seconds of each measurement.")] = 2.0,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of a batch; default: all allowed cores.")
    ] = None,
    backend: Annotated[str, typer.Option(help="mujoco, or warp (MuJoCo Warp).")] = "mujoco",
    device: Annotated[
        str, typer.Option(help="Device of --backend warp: cuda, cuda:<number> or cpu.")
    ] = "cuda",
    json: shared_options.Json = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the JSON to this file.", dir_okay=False)
    ] = None,
) -> None:
    """Measure ids: steps per second against the engine alone, resets, creation, memory.

    The limit is the engine's own C loop on the same model, with the same numbers of simulations and
    threads, without observations, rewards and resets.
    """
    sizes = _sizes(num_envs)
    on = _device(backend, device)
    output.require_folder(out)
    with output.failing(OSError, prefix="nothing is written: "), contextlib.ExitStack() as stack:
        # Find out whether it can be written before the measurement.
        part = None if out is None else stack.enter_context(replacing(out))
        with output.reserved(json):
            rows = None if json else Rows(ids, sizes)
            content = measure(ids, sizes, seconds, threads, rows, on)
        if part is not None:
            part.write_text(output.to_json(content) + "\n")
    if json:
        output.print_json(content)
        return
    terminal, machine = output.console(), content["machine"]
    load = "" if content["load"] is None else f", load {content['load']:.1f}"
    cores = f"{machine['allowed_cores']} cores"
    terminal.print(f"{machine['processor']}, {cores}{load}", style="dim")
    for line in content["left_out"]:
        terminal.print(f"left out: {line}", style="yellow")
    if out is not None:
        output.say(f"written: {out}", stderr=True)


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise typer.BadParameter(
            f"{text!r} is no list of numbers from 1 up.", param_hint="'--num-envs'"
        )
    return list(dict.fromkeys(sizes))


def _device(backend: str, device: str) -> dict[str, Any] | None:
    from mjgym.envs.simulation_backends import BACKENDS, DEFAULT

    complaint = ""
    if backend not in BACKENDS:
        complaint = f"{backend!r} is none of {', '.join(BACKENDS)}."
    elif missing := BACKENDS[backend].missing():
        complaint = f"{backend} needs {' and '.join(missing)}: {install(BACKENDS[backend].extra)}"
    if complaint:
        raise typer.BadParameter(complaint, param_hint="'--backend'")
    return None if backend == DEFAULT else {"backend": backend, "device": device}


def measure(
    ids: list[str],
    sizes: list[int],
    seconds: float,
    threads: int | None,
    rows: "Rows | None",
    on: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Measure all ids and sizes; each result is printed as soon as it is known."""
    import os

    import mjgym

    content: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "seconds": seconds,
        "device": on and on["device"],
        **mjgym.fingerprint(),
        "results": [],
        "left_out": [],
    }
    progress = output.console(stderr=True)
    for done, (id, n) in enumerate(itertools.product(ids, sizes)):
        doing = f"timing {n} x {id} ({done + 1} of {len(ids) * len(sizes)})"
        if not progress.is_terminal:
            progress.print(doing, soft_wrap=True)
        with progress.status(doing):
            result = _result(id, n, seconds, threads, content["left_out"], on)
        content["results"].append(result)
        if rows is not None:
            rows.add(result)
    return content


def _result(
    id: str,
    n: int,
    seconds: float,
    threads: int | None,
    left_out: list[str],
    on: dict[str, Any] | None = None,
) -> dict[str, Any]:
    import gymnasium

    import mjgym
    from mjgym.checks import benchmark

    env = gymnasium.make(id)
    limit = env.spec.max_episode_steps if env.spec else None
    alone = n == 1 and on is None
    with output.refusing(ValueError, prefix=f"{id}: "):
        ours = benchmark.single(id) if alone else benchmark.batch(id, n, threads=threads, on=on)
    subjects = {"ours": ours, "limit": benchmark.engine(id, n, threads=threads)}
    rates = benchmark.rates(subjects, seconds, limit or float("inf"))
    reset = benchmark.reset_seconds(subjects["ours"])
    for subject in subjects.values():
        subject.close()
    # The median round, so that the ratio is that of adjacent measurements.
    rounds = sorted(zip(rates["ours"], rates["limit"], strict=True), key=lambda r: r[0] / r[1])
    our_rate, engine = rounds[len(rounds) // 2]
    result: dict[str, Any] = {
        "id": id,
        "num_envs": n,
        "steps_per_second": our_rate,
        "limit_steps_per_second": engine,
        "ratio_to_limit": our_rate / engine,
        "reset_seconds": reset,
        "creation_seconds": benchmark.creation_seconds(id, n, threads=threads, on=on),
        "bytes_per_env": None,
        "fingerprint": {
            k: v for k, v in mjgym.fingerprint(env).items() if k not in ("versions", "machine")
        },
    }
    try:
        result["bytes_per_env"] = (
            benchmark.memory(id, n, threads=threads)
            if on is None
            else benchmark.memory_on_device(id, n, **on)
        )
    except RuntimeError as error:
        left_out.append(f"memory of {n} x {id}: {error}")
    return result


_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "steps/s": lambda r: f"{r['steps_per_second']:,.0f}",
    "limit/s": lambda r: f"{r['limit_steps_per_second']:,.0f}",
    "ratio": lambda r: f"{r['ratio_to_limit']:.3f}",
    "reset, ms": lambda r: f"{1e3 * r['reset_seconds']:.2f}",
    "make, ms": lambda r: f"{1e3 * r['creation_seconds']:.1f}",
    "MB/env": lambda r: (
        "" if r["bytes_per_env"] is None else f"{r['bytes_per_env'] / _MEGABYTE:.2f}"
    ),
}


class Rows:
    """A table of results that prints each row as it is added."""

    def __init__(self, ids: list[str], sizes: list[int]) -> None:
        self._out = output.console()
        self._widths = {
            "id": max(len(id.rpartition(":")[2]) for id in ids),
            "envs": max(len("envs"), *(len(str(n)) for n in sizes)),
            **{title: max(len(title), _WIDTH) for title in _COLUMNS},
        }
        width = sum(self._widths.values()) + 2 * (len(self._widths) - 1)
        self._narrow = width > self._out.width
        self._begun = False

    def add(self, result: dict[str, Any]) -> None:
        """Print a result as a row."""
        values = {title: show(result) for title, show in _COLUMNS.items()}
        if self._narrow:
            self._out.print(f"{result['num_envs']} x {result['id']}", style="bold")
            self._out.print(output.facts({f"  {name}": value for name, value in values.items()}))
            return
        if not self._begun:
            self._begun = True
            self._line({title: title for title in self._widths}, style="bold")
            self._line({title: "-" * width for title, width in self._widths.items()}, style="dim")
        self._line({"id": result["id"], "envs": str(result["num_envs"]), **values})

    def _line(self, cells: dict[str, str], style: str | None = None) -> None:
        first, *rest = (
            cells[title].ljust(width) if title == "id" else cells[title].rjust(width)
            for title, width in self._widths.items()
        )
        self._out.print("  ".join([first, *rest]), style=style, soft_wrap=True)
