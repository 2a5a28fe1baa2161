"""`mjgym teleop`: drive a robot with keyboard, gamepad or SpaceMouse, and record."""

import contextlib
import dataclasses
from typing import Annotated, Any, Literal

import typer

from mjgym.cli import policy_option, shared_options, task_arguments, viewers
from mjgym.cli.convert import NAMES, kept
from mjgym.cli.ids import ID
from mjgym.cli.output import refusing, say


def teleop(
    id: Annotated[str, ID],
    record: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Write the episodes to this dataset: {NAMES}."),
    ] = None,
    device: Annotated[
        Literal["keyboard", "gamepad", "spacemouse"],
        typer.Option(help="The input device; keys work beside the others."),
    ] = "keyboard",
    policy: Annotated[
        str,
        typer.Option(help="Of a legged robot: it follows the command that you give."),
    ] = policy_option.TRAINED,
    seed: shared_options.Seed = 0,
    camera: shared_options.Camera = None,
    web: shared_options.Web = None,
    port: shared_options.Port = None,
    host: shared_options.Host = shared_options.LOOPBACK,
    set: shared_options.Settings = None,
) -> None:
    """Drive a robot with keyboard, gamepad or SpaceMouse, in a window or a browser.

    Arrows, page up and page down move the tool; 6 to 9, home and end turn it. A legged robot walks
    with the arrows and turns with 6 and 7; its --policy follows the command.

    The full stop closes and opens the fingers; F9 switches to the next arm. The command prints
    the controls of other devices.

    Each episode waits until a device is used. In the terminal: space pauses, r discards the
    episode, n keeps it and takes the next seed, q quits.

    With --record, the last episode is kept when the command ends.
    """
    from mjgym import datasets, viewing
    from mjgym.viewing import driving, recorded

    env = task_arguments.make(id, set)
    with contextlib.ExitStack() as stack:
        stack.enter_context(viewers.shown())
        stack.callback(env.close)
        task: Any = env.unwrapped.task
        place = viewers.place_of(camera, env)
        with refusing(driving.DrivingError, prefix=f"{id}: "):
            other = driving.open_device(device)
            if other is not None:
                stack.callback(other.close)
            driver: driving.Driver | driving.Commander
            if hasattr(task, "commanded"):
                act = policy_option.load_policy(policy, env, seed=seed)
                driver = driving.Commander(env, act, device=other)
            else:
                if policy != policy_option.TRAINED:
                    raise typer.BadParameter(
                        f"no policy follows your commands in {id}", param_hint="'--policy'"
                    )
                controlled = any(field.name == "controller" for field in dataclasses.fields(task))
                actions = task.actions(env.unwrapped.model)
                driver = driving.Driver(actions, controlled=controlled, device=other)
        if record is None:
            session = viewing.Session(env, driver.act, seed, driver)
        else:
            recorder = datasets.record(
                env, record, algorithm="teleoperation", description=f"{id}, driven by hand"
            )
            stack.callback(lambda: say(kept(recorder)))
            stack.callback(recorder.keep)
            session = recorded.Driven(recorder, driver.act, seed, driver)
        viewers.watch(session, place, web, host, port, dict(driver.help))
