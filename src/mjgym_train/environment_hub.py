"""A task as an environment of the Hugging Face hub, which LeRobot loads from an `env.py`."""

from pathlib import Path

from mjgym import registry
from mjgym.util import atomic

FILE = "env.py"
TEMPLATE = '''"""{id} for LeRobot; needs the package mjgym.

    from lerobot.envs.factory import make_env

    suites = make_env("NAME/REPOSITORY", n_envs=4, trust_remote_code=True)
    envs = suites["{suite}"][0]
"""

{imports}

TASK = "{id}"


def make_env(n_envs=1, use_async_envs=False, cfg=None, **kwargs):
    """Make {{suite: {{task_id: envs}}}}; kwargs: obs_type, cameras, fields of the task."""
    return make_suites(TASK, n_envs, use_async_envs, **kwargs)
'''


def write(folder: Path, id: str) -> Path:
    """Write the file of a task's environment, whatever module registers it; returns its path."""
    module = registry.registration(id).task_class.__module__
    imports = "from mjgym_compat.lerobot_env import make_suites"
    if module.partition(".")[0] != "mjgym":
        imports = f"import {module}  # registers the id\n{imports}"
    atomic.require_empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = TEMPLATE.format(id=id, suite=id.partition("/")[0], imports=imports)
    atomic.write_text(folder / FILE, text)
    return folder / FILE
