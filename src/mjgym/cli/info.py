"""`mjgym info`: everything about one id."""

import itertools
from typing import TYPE_CHECKING, Annotated, Any

from mjgym.cli import shared_options, task_arguments
from mjgym.cli.ids import ID
from mjgym.cli.output import console, facts, print_json, reserved, table
from mjgym.util.plurals import counted

if TYPE_CHECKING:
    from rich.console import Console

_SIZES = {
    "nq": ("position", "positions"),
    "nv": ("velocity", "velocities"),
    "na": ("activation", "activations"),
    "nu": ("control", "controls"),
    "nbody": ("body", "bodies"),
    "njnt": ("joint", "joints"),
    "ngeom": ("geom", "geoms"),
    "nsensor": ("sensor", "sensors"),
    "ntendon": ("tendon", "tendons"),
}


def info(
    id: Annotated[str, ID], set: shared_options.Settings = None, json: shared_options.Json = False
) -> None:
    """Describe a task: its file, every number of its spaces, reward, start and arguments."""
    with reserved(json):
        data = about(id, set or [])
    if json:
        print_json(data)
    else:
        _show(data)


def about(id: str, settings: list[str]) -> dict[str, Any]:
    """`describe()` of an environment, with its tags, step limit, fingerprint and trained policy."""
    import mjgym
    from mjgym.policies import trained

    env = task_arguments.make(id, settings)
    registered = mjgym.registry.registration(id)
    return {
        **env.unwrapped.describe(),
        "tags": sorted(registered.tags),
        "max_episode_steps": env.spec.max_episode_steps,
        "fingerprint": mjgym.fingerprint(env),
        "trained": "" if settings else trained.summary(id),
    }


def _show(data: dict[str, Any]) -> None:
    out = console()
    out.print(data["id"], style="bold")
    for paragraph in dict.fromkeys([data["summary"], *_paragraphs(data["description"])]):
        out.print(f"{paragraph}\n")
    out.print(facts(_facts(data)))
    _observation(out, data["observation"])
    _action(out, data["action"])
    _heading(out, "Reward")
    if data["reward"]:
        out.print(data["reward"])
    out.print(facts({"terms": ", ".join(data["terms"])}))
    if data["start"]:
        _heading(out, "Start")
        out.print(data["start"])
    if data["arguments"]:
        _heading(out, "Arguments")
        lines = table("name", "value", "default", "type", "meaning", fold=("meaning",))
        for a in data["arguments"]:
            lines.add_row(a["name"], repr(a["value"]), repr(a["default"]), a["type"], a["comment"])
        out.print(lines)
    _heading(out, "Versions")
    out.print(facts({f"v{number}": text for number, text in data["versions"].items()}))
    _heading(out, "Fingerprint")
    out.print(facts(fingerprint_facts(data["fingerprint"])))


def _heading(out: "Console", title: str) -> None:
    out.print(f"\n{title}", style="bold")


def _paragraphs(description: str) -> list[str]:
    shown = ("Reward:", "Start:", "Observation:")
    texts = [p.replace("\n", " ") for p in description.split("\n\n") if not p.startswith(shown)]
    return [p for p in texts if p]


def _facts(data: dict[str, Any]) -> dict[str, str]:
    limit, control = data["max_episode_steps"], data["control_timestep"]
    substeps = round(control / data["physics_timestep"])
    counts = {names: data["model"].get(size, 0) for size, names in _SIZES.items()}
    sizes = [f"{n} {one if n == 1 else more}" for (one, more), n in counts.items() if n]
    rows = {
        "file": f"{data['file']}:{data['line']}" if data["file"] else "",
        "class": data["task"],
        "tags": ", ".join(data["tags"]),
        "control": f"every {control:g} s, {substeps} x {data['physics_timestep']:g} s of physics",
        "episode": f"{limit} steps, {limit * control:g} s" if limit else "no time limit",
        "trained": f"{data['trained']}; --policy trained" if data["trained"] else "",
        "success": "reported in info" if data["success"] else "not defined",
        "model": ", ".join(sizes),
        "cameras": ", ".join(data["cameras"]),
        "viewpoint": str(data["viewpoint"]),
        "changes": f"{', '.join(data['varies'])}, in each episode" if data["varies"] else "",
    }
    return {name: value for name, value in rows.items() if value}


def _observation(out: "Console", rows: list[dict[str, Any]]) -> None:
    _heading(out, f"Observation, {counted(len(rows), 'number')}")
    lines = table("index", "name", "unit", "axes", "source", right=("index",), fold=("name",))
    for entry, group in itertools.groupby(rows, key=lambda row: row["entry"]):
        these = list(group)
        lines.add_row("", ": ".join(filter(None, (entry, these[0]["meaning"]))), style="italic")
        for row in these:
            lines.add_row(str(row["index"]), row["name"], row["unit"], row["frame"], row["source"])
    out.print(lines)


def _action(out: "Console", rows: list[dict[str, Any]]) -> None:
    _heading(out, f"Action, {counted(len(rows), 'number')}")
    lines = table("index", "name", "range", "unit", "gear", "meaning", right=("index", "gear"))
    for row in rows:
        lines.add_row(
            str(row["index"]),
            row["name"],
            f"{row['low']:g} to {row['high']:g}",
            row["unit"],
            f"{row['gear']:g}",
            row["meaning"],
        )
    out.print(lines)


def fingerprint_facts(print_: dict[str, Any]) -> dict[str, str]:
    """A fingerprint as names and values."""
    machine, versions = print_["machine"], print_["versions"]
    rows: dict[str, str] = {}
    for name in ("id", "model_sha256"):
        if name in print_:
            rows[name] = str(print_[name])
    if print_.get("arguments"):
        rows["arguments"] = ", ".join(f"{k}={v!r}" for k, v in print_["arguments"].items())
    if "hooks" in print_:
        hooks = print_["hooks"]
        rows["hooks"] = ": ".join(filter(None, (hooks["run"], hooks["reason"])))
        for hook, reason in hooks["in_numpy"].items():
            rows["hooks"] += f"; {hook} on arrays: {reason}"
    rows["versions"] = ", ".join(f"{name} {version}" for name, version in versions.items())
    rows["os"] = machine["os"]
    rows["processor"] = f"{machine['processor']} ({machine['architecture']})"
    rows["features"] = " ".join(machine["features"])
    if print_["warnings"]:
        rows["warning"] = "; ".join(": ".join(x.values()) for x in print_["warnings"])
    return rows
