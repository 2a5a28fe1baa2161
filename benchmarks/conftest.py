"""Enable timing for `pytest benchmarks --benchmark-only`, which the project's options disable."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # The project's addopts say --benchmark-disable, so that plain `pytest` never times;
    # --benchmark-only overrides it.
    if config.getoption("benchmark_only", default=False):
        config.option.benchmark_enable = True
