"""The models of the suite's domains by their published files."""

from mjgym.util.packaged import asset_path
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control import suite

ASSETS = {
    f"./common/{name}.xml": asset_path(f"dmc/common/{name}.xml").read_bytes()
    for name in ("materials", "skybox", "visual")
}
"""Files that models of further domains include; those of the suite here include none."""


def read_model(model_filename: str) -> str:
    """The MJCF of a domain, "cartpole.xml" for example.

    Raises:
        ValueError: there is no such domain; the message names the nearest.
    """
    domains = {f"{name}.xml": name for name in suite.TASKS_BY_DOMAIN}
    if model_filename not in domains:
        raise ValueError(f"model_filename: no {model_filename!r}{or_else(model_filename, domains)}")
    xml: str = getattr(suite, domains[model_filename]).get_model_and_assets()[0]
    return xml
