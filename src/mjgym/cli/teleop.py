"""`mjgym teleop`: drive a robot's tool with keyboard, gamepad or SpaceMouse, and record."""

import contextlib
import dataclasses
from typing import Annotated, Any, Literal

import typer

from mjgym.cli import fields, viewers
from mjgym.cli.ids import ID
from mjgym.cli.output import console, facts


def teleop(
    id: Annotated[str, ID],
    record: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write the episodes to this dataset."),
    ] = None,
    device: Annotated[
        Literal["keyboard", "gamepad", "spacemouse"],
        typer.Option(help="The input device; keys work beside the others."),
    ] = "keyboard",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first episode; each further episode adds 1.")
    ] = 0,
    camera: viewers.Camera = None,
    web: viewers.Web = None,
    port: viewers.Port = None,
    host: viewers.Host = viewers.LOOPBACK,
    set: fields.Settings = None,
) -> None:
    """Drive a robot's tool with keyboard, gamepad or SpaceMouse, in a window or a browser.

    Arrows, page up and page down move the tool; 6 to 9, home and end turn it.

    The full stop closes and opens the fingers; F9 switches to the next arm. The command prints
    the controls of other devices.

    Each episode waits until a device is used. In the terminal: space pauses, r discards the
    episode, n keeps it and takes the next seed, q quits.

    With --record, the last episode is kept when the command ends.
    """
    from mjgym import datasets, viewing
    from mjgym.viewing import devices, driving, recorded

    env = fields.make(id, set or [])
    out = console()
    with contextlib.ExitStack() as stack:
        stack.enter_context(viewers.terminable())
        stack.callback(env.close)
        plain: Any = env.unwrapped
        try:
            place = viewers.place_of(camera, plain)
            actions = plain.task.actions(plain.model)
            other = driving.open_device(device)
            if other is not None:
                stack.callback(other.close)
            driver = driving.Driver(actions, controlled=_controlled(plain.task), device=other)
            if record is None:
                session = viewing.Session(env, driver.act, seed, driver)
            else:
                recorder = datasets.record(
                    env, record, algorithm="teleoperation", description=f"{id}, driven by hand"
                )
                stack.callback(_tell, out, recorder)
                stack.callback(recorder.keep)
                session = recorded.Driven(recorder, driver.act, seed, driver)
            viewer = viewers.open_viewer(session, place, web, host, port, out)
            out.print(facts(dict(driver.help)))
            keys = viewing.Keys()
            viewing.watch(session, viewer, keys, viewing.Report(out, keys.active))
        except driving.DrivingError as error:
            raise typer.BadParameter(f"{id}: {error}") from None
        except (viewing.ViewerError, datasets.DemonstrationError, devices.DeviceError) as error:
            console(stderr=True).print(f"{error}", soft_wrap=True)
            raise typer.Exit(1) from None


def _controlled(task: Any) -> bool:
    return any(field.name == "controller" for field in dataclasses.fields(task))


def _tell(out: Any, recorder: Any) -> None:
    count = recorder.kept
    if count:
        again = f"play them again: mjgym replay {recorder.name}"
        out.print(f"{count} episode{'s' * (count > 1)} in {recorder.name!r}; {again}")
    else:
        out.print("nothing is recorded")
