"""Time only with `pytest benchmarks --benchmark-only`; plain `pytest benchmarks` just runs them."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.option.benchmark_disable = not config.getoption("benchmark_only", default=False)
