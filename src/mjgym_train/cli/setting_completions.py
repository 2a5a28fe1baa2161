"""Shell completions: algorithms and their settings."""

import dataclasses

import typer

from mjgym.cli.completions import beginning


def algorithms(incomplete: str) -> list[str]:
    """The bundled algorithms."""
    from mjgym_train.learn.algorithms import ALGORITHMS

    return beginning(incomplete, list(ALGORITHMS))


def settings(context: typer.Context, incomplete: str) -> list[str]:
    """Settings of the algorithm on the command line, each with "="."""
    from mjgym.policies.run_errors import ConfigError
    from mjgym_train.learn import algorithms as known

    try:
        config = known.find(str(context.params.get("algorithm") or "")).Config
    except (ConfigError, ImportError):  # torch may be missing
        return []
    return beginning(incomplete, [f"{field.name}=" for field in dataclasses.fields(config)])
