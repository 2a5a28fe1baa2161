"""`mjgym export`: a policy, or a task, for other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mjgym.cli.ids import known_id
from mjgym.cli.output import require, say
from mjgym.util import bounded
from mjgym_train.cli.subjects import SUBJECT, Id, Pixels, Subject, subject_of
from mjgym_train.cli.train import Trust

if TYPE_CHECKING:
    from mjgym_train.model_card import Card


def export(
    policy: Annotated[str, SUBJECT],
    onnx: Annotated[
        Path | None, typer.Option(help="Write a graph of ONNX to this file.", dir_okay=False)
    ] = None,
    hub: Annotated[
        Path | None,
        typer.Option(help="Write a model's folder of the Hugging Face hub.", file_okay=False),
    ] = None,
    deploy: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write a legged robot's controller to this folder.", file_okay=False
        ),
    ] = None,
    envhub: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write an id as an environment of the hub.", file_okay=False
        ),
    ] = None,
    id: Id = None,
    pixels: Pixels = False,
    trust: Trust = False,
) -> None:
    """Write a policy as a graph of ONNX, for a robot's controller, or for the Hugging Face hub.

    For a controller of `legged/` ids: the graph, the model as MJCF, and `deploy.yaml`, which says
    all that a controller must know; `mjgym sim2sim DIR` runs it in bare MuJoCo.

    The hub's folder holds the policy, its settings, the returns of `mjgym evaluate` where it has
    been scored, and a card; `hf upload NAME FOLDER` publishes it. Nothing is overwritten.

    `--envhub` writes the task alone, as LeRobot loads it: `mjgym export ID --envhub DIR`.
    """
    from mjgym.util import atomic
    from mjgym_train import deployment, environment_hub, model_card, onnx_graph

    policies = [place for place in (onnx, hub, deploy) if place is not None]
    if envhub is not None:
        if policies or pixels:
            raise typer.BadParameter("--envhub writes a task without a policy: give it alone")
        say(f"written: {environment_hub.write(envhub, known_id(policy))}")
        return
    if not policies:
        raise typer.BadParameter(
            "say where to: --onnx FILE, --hub FOLDER, --deploy DIR or --envhub DIR"
        )
    if deploy is not None:
        require("onnx", "yaml", extra="deploy")
    subject = subject_of(policy, id, None, trust=trust, pixels=pixels)
    written: list[Path] = []
    if hub is not None:
        atomic.require_empty(hub)
    if onnx is not None:
        atomic.require_new(onnx)
    if deploy is not None:
        written += deployment.write(deploy, subject.policy, subject.id, subject.env)
    if onnx is not None:
        graph = onnx_graph.graph_of(subject.policy, subject.id)
        with atomic.replacing(onnx) as part:
            part.write_bytes(graph.SerializeToString())
        written.append(onnx)
    if hub is not None:
        card, settings = _card(subject)
        written += model_card.write(hub, subject.policy, card, settings)
    for path in written:
        say(f"written: {path}")


def _card(subject: Subject) -> "tuple[Card, str]":
    from mjgym import registry
    from mjgym_train import evaluation
    from mjgym_train.model_card import Card

    env = registry.on_mujoco(subject.env)
    if subject.run is not None:
        settings = subject.run.settings()
        score = subject.run.score()
        algorithm = str(settings["algorithm"])
        scored = score.get("returns", ()), score.get("seeds", ())
        card = Card(subject.id, algorithm, *scored, env, subject.env_step)
        return card, bounded.text(subject.run.config_file)
    if (about := subject.about) is not None:
        algorithm = str(about.settings["algorithm"])
        seeds = evaluation.SEEDS
        return Card(subject.id, algorithm, about.returns, seeds, env, about.env_step), ""
    return Card(subject.id), ""
