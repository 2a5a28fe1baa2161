"""`--policy`: policies for commands."""

import contextlib
import math
import operator
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from mjgym.cli import task_arguments
from mjgym.cli.ids import RUN, ModuleError, load, run_folder
from mjgym.cli.output import refusing, require
from mjgym.policies.network import PolicyError as NetworkError
from mjgym.policies.network import begin
from mjgym.policies.network import load as load_file
from mjgym.util.bounded import UserError
from mjgym.util.suggestions import did_you_mean

if TYPE_CHECKING:
    from mjgym.policies.network import AnyPolicy
    from mjgym.policies.run_folder import RunFolder

NAMES = RANDOM, ZERO, TRAINED, SCRIPTED = "random", "zero", "trained", "scripted"
FORM = (
    f'"{RANDOM}", "{ZERO}", "{TRAINED}", "{SCRIPTED}", a planner such as "mppi", the folder of a'
    ' run, a policy file, or "module:function"'
)
OF_TEAMS = ' Of two teams, one each: "home,away".'
HELP = f"{FORM} from observation to action.{OF_TEAMS}"
DEFAULT = "that of the run, else random"
HINT = "'--policy'"

Policy = Callable[[Any], np.ndarray]


class PolicyError(UserError):
    """A user's policy fails or returns no valid action; the message says where."""


def of_teams(text: str, id: str) -> tuple[str, dict[str, str]]:
    """The agent's policy, and the other team's, if named, as an argument of make."""
    from mjgym.registry import registration

    agent, comma, other = text.partition(",")
    if comma and not hasattr(registration(id).task_class, "opponent"):
        raise _refused(f"{text!r} is a policy for each team, but {id} has no teams.")
    return agent, {"opponent": {ZERO: "still"}.get(other, other)} if comma else {}


def planners() -> list[str]:
    """List the names of the planners."""
    from mjgym.planning import METHODS

    return list(METHODS)


def arguments_for(policy: str, id: str, settings: list[str] | None = None) -> dict[str, Any]:
    """Arguments of an id's task that suit a policy, unless settings say otherwise.

    Those that the bundled policy was scored with, which is the one that acts by images if these are
    to be observed; or the images that a run observes.
    """
    from mjgym.policies import trained

    if run_folder(policy):
        with _opened(policy) as run:
            return trained.image_options(run.settings()["env"])
    pixels = "pixels" in task_arguments.pairs(settings).get("observation", "")
    if policy != TRAINED or id not in trained.ids(pixels=pixels):
        return {}
    return trained.about_of(trained.file(id, pixels=pixels)).arguments


def make_for(
    policy: str | None,
    context: typer.Context,
    id: str,
    settings: list[str] | None,
    envs: int,
    drawing: dict[str, Any],
) -> tuple[str, Any]:
    """The agent's policy, by default that of the run that stands for the id, and the environment
    or the batch that suits it.
    """
    agent, opponent = of_teams(policy or str(context.meta.get(RUN, RANDOM)), id)
    suited = arguments_for(agent, id, settings)
    count = envs if envs > 1 else None
    return agent, task_arguments.make(id, settings, count, options=drawing | opponent, **suited)


@contextlib.contextmanager
def _opened(run: str) -> "Iterator[RunFolder]":
    require("yaml")
    from mjgym.policies.run_errors import RunError
    from mjgym.policies.run_folder import RunFolder

    with refusing(RunError, hint=HINT):
        yield RunFolder(run)


def load_policy(text: str, env: Any, *, seed: int | None = None) -> Policy:
    """A function from observation to action.

    Args:
        text: "random" (uniform within the bounds, -1 and 1 where unlimited), "zero", "trained" (the
            policy that comes with the package), "scripted" (of the task), a method of
            `mjgym.planning`, the folder of a run of `mjgym train` (acting without noise), a policy
            file, or "module:function", where the module may be a file. The function gets the
            observation and returns the action; for a batch, those of all sub-environments.
        env: single or vector environment to act in.

    Returns:
        A function that raises PolicyError if a user's function fails, or returns another shape than
        an action's.
    """
    space = env.action_space
    if text == ZERO:
        return lambda observation: np.zeros(space.shape, space.dtype)
    if text == RANDOM:
        from mjgym.actions import drawable

        low, high = drawable(space.low, space.high)
        rng = np.random.default_rng(seed)
        return lambda observation: rng.uniform(low, high)
    return _Checked(text, _named(text, env), space.shape)


def _named(text: str, env: Any) -> Callable[[Any], Any]:
    if text == SCRIPTED:
        return _ByEntries(script_of(env), env.unwrapped.entry_shapes)
    if text.isidentifier() and text in planners():
        from mjgym.planning import Planner

        return Planner(env, text)
    return network(text, env) or _find(text)


def network(text: str, env: Any) -> "AnyPolicy | None":
    """The network of "trained", a run or a file; None for other kinds of policy."""
    policy: AnyPolicy
    if text == TRAINED:
        from mjgym.policies import trained

        with refusing(trained.TrainedError, hint=HINT):
            pixels = len(_shape(env.observation_space)) > 2
            bundled = trained.bundled(env.spec.id, pixels=pixels)
            bundled.about.check(env)
        name, policy = f"the trained policy of {env.spec.id}", bundled.policy
    elif os.path.isdir(text):  # False for what can be no path
        with _opened(text) as run:
            name, policy = text, run.policy()
    elif text.endswith(".npz") and os.path.isfile(text):
        with refusing(OSError, NetworkError, hint=HINT):
            name, policy = text, load_file(text)
    else:
        return None
    if complaint := spaces_complaint(name, policy, env):
        raise _refused(complaint)
    return policy


def script_of(env: Any) -> Callable[[Any], Any]:
    """The scripted policy of a task, from entries of the observation to the action."""
    id, task = env.spec.id, env.unwrapped.task
    with refusing(ValueError, prefix=f"{id}: "):
        policy: Callable[[Any], Any] | None = task.scripted_policy()
    if policy is None:
        raise typer.BadParameter(
            f"There is no scripted policy for {id}: take a planner (--expert mppi, --policy mppi),"
            f" or give {type(task).__name__} the method scripted_policy, which returns a function"
            " from entries of the observation to the action."
        )
    return policy


class _ByEntries:
    """A policy that gets entries by name, for flat observations or dicts."""

    def __init__(self, policy: Callable[[Any], Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
        self._policy, self._shapes = policy, shapes
        self._ends = np.cumsum([math.prod(shape) for shape in shapes.values()])

    def restart(self, where: np.ndarray | None = None) -> None:
        begin(self._policy, where)

    def __call__(self, observation: Any) -> Any:
        if isinstance(observation, np.ndarray) and observation.shape[-1] == self._ends[-1]:
            parts = np.split(observation, self._ends[:-1], axis=-1)
            observation = {
                name: part.reshape(*part.shape[:-1], *(shape or (1,)))
                for part, (name, shape) in zip(parts, self._shapes.items(), strict=True)
            }
        return self._policy(observation)


def spaces_complaint(name: str, policy: "AnyPolicy", env: Any) -> str:
    """A complaint if observations or actions differ from the policy's training, or ""."""
    sizes = (policy.mean.shape, policy.low.shape)
    shapes = (_shape(env.observation_space), env.action_space.shape)
    here = tuple(shape[-len(size) :] for shape, size in zip(shapes, sizes, strict=True))
    if sizes == here:
        return ""
    (trained, actions), (observed, acted) = (
        [" x ".join(map(str, size)) or "no" for size in pair] for pair in (sizes, here)
    )
    return (
        f"{name} was trained with {trained} observed numbers and {actions} actions;"
        f" here there are {observed} and {acted}"
    )


def _shape(space: Any) -> tuple[int, ...]:
    if not hasattr(space, "spaces"):
        return tuple(space.shape)
    shapes: list[tuple[int, ...]] = [part.shape or () for part in space.spaces.values()]
    if min(map(len, shapes)) < 3 or len({shape[:-1] for shape in shapes}) > 1:
        return ()
    return (*shapes[0][:-1], sum(shape[-1] for shape in shapes))


def _find(text: str) -> Callable[[Any], Any]:
    module, colon, name = text.rpartition(":")
    if not colon or not module or not name:
        near = did_you_mean(text, (*NAMES, *planners()))
        raise _refused(f"{text!r} is not {FORM}{near or '.'}")
    try:
        attribute: Any = load(module)
    except typer.BadParameter:
        raise _refused(f"there is no module {module!r}.") from None
    except ModuleError as error:
        raise _refused(str(error)) from None
    try:
        attribute = operator.attrgetter(name)(attribute)
    except AttributeError:
        raise _refused(f"{module} has no {name}.") from None
    if not callable(attribute):
        raise _refused(f"{text} is not a function but {type(attribute).__name__}.")
    function: Callable[[Any], Any] = attribute
    return function


def _refused(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=HINT)


class _Checked:
    """A policy with errors reported in a sentence."""

    def __init__(self, text: str, function: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
        self.wrapped = function
        self._text, self._shape = text, shape

    def restart(self, where: np.ndarray | None = None) -> None:
        begin(self.wrapped, where)

    def __call__(self, observation: Any) -> np.ndarray:
        text, shape = self._text, self._shape
        try:
            returned = self.wrapped(observation)
        except Exception as error:
            raise PolicyError(_failure(text, error)) from error
        try:
            action = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError):
            kind = type(returned).__name__
            raise PolicyError(f"{text} returned {kind}, which is no action") from None
        if action.shape != shape:
            raise PolicyError(f"{text} returned shape {action.shape}, an action has {shape}")
        if not np.isfinite(action).all():
            raise PolicyError(f"{text} returned an action that is not finite")
        return action


def _failure(text: str, error: Exception) -> str:
    message = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without the call from here
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{text} failed: {type(error).__name__}: {message}{where}"
