"""`mjgym doctor`: report versions and hardware; diagnose problems."""

from typing import Annotated, Any

import typer

from mjgym.cli import shared_options
from mjgym.cli.diagnosis import examine
from mjgym.cli.output import console, facts, print_json, table


def doctor(
    json: shared_options.Json = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if there is a problem.")
    ] = False,
) -> None:
    """Report versions, processor, GPU and OpenGL, and how to fix each problem."""
    with console(stderr=True).status("looking; OpenGL may take some seconds"):
        report = examine()
    if json:
        print_json(report)
    else:
        _show(report)
    if strict and report["problems"]:
        raise typer.Exit(1)


def _warp_device(device: dict[str, Any]) -> str:
    words = f"{device['device']} {device['name']}".strip()
    if device["memory"] is None:
        return words
    return f"{words}, {device['free'] / 1e9:.1f} of {device['memory'] / 1e9:.1f} GB free"


def _show(report: dict[str, Any]) -> None:
    from rich.text import Text

    out = console()
    out.print("Fingerprint", style="bold")
    out.print(facts(_fingerprint_rows(report)))
    out.print("\nOpenGL, 84 x 84 pixels", style="bold")
    out.print(_opengl_table(report["gl"]))
    for note in report["notes"]:
        out.print(f"note: {note}", style="dim")
    out.print()
    for p in report["problems"]:
        out.print(Text.assemble(("problem: ", "bold red"), p["problem"]))
        out.print(Text.assemble(("    fix: ", "bold green"), p["fix"]), soft_wrap=True)
    if not report["problems"]:
        out.print(Text("no problems", style="green"))


def _fingerprint_rows(report: dict[str, Any]) -> dict[str, str]:
    from mjgym.cli.info import fingerprint_facts

    print_, machine = report["fingerprint"], report["fingerprint"]["machine"]
    rows = fingerprint_facts({**print_, "hooks": report["hooks"], "warnings": []})
    allowed = f"{machine['allowed_cores']} allowed of {machine['cores']}"
    rows["cores"] = allowed + (f", quota {report['quota']:g}" if report["quota"] else "")
    blas = report["blas"]
    rows["BLAS"] = f"{blas['kernels'] or 'not OpenBLAS'}, {blas['gigaflops']:.0f} GFLOP/s"
    if report["load"] is not None:
        rows["load"] = f"{report['load']:.2f}"
    gpus = [", ".join(gpu.values()) for gpu in report["gpus"]]
    rows["GPU"] = "; ".join(gpus) or "none (nvidia-smi)"
    if report["warp"]:
        rows["Warp"] = "; ".join(_warp_device(device) for device in report["warp"])
    installed = [f"{name} {v}" for name, v in report["peers"].items() if v]
    rows["peers"] = ", ".join(installed) or "none"
    if report["environment"]:
        rows["environment"] = " ".join(f"{k}={v}" for k, v in report["environment"].items())
    return rows


def _opengl_table(backends: list[dict[str, Any]]) -> Any:
    from rich.text import Text

    made = table("backend", "works", "frames/s", "driver", right=("frames/s",), fold=("driver",))
    for b in backends:
        rate = b["frames_per_second"]
        driver = ", ".join(v for v in (b["vendor"], b["renderer"], b["version"]) if v)
        made.add_row(
            b["backend"],
            Text("yes", style="green") if b["works"] else Text("no", style="yellow"),
            f"{rate:.0f}" if rate else "",
            b["error"] or driver,
        )
    return made
