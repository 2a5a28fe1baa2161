"""Lets `pytest benchmarks --benchmark-only` time, although the project's own options forbid it."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # The project's addopts say --benchmark-disable, so that `pytest` alone never times; asking
    # for benchmarks only is asking for them to be timed.
    if config.getoption("benchmark_only", default=False):
        config.option.benchmark_enable = True
