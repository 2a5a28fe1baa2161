"""Tests of training compute in one thread, from one seed."""

import pytest


@pytest.fixture(autouse=True)
def _one_thread_one_seed(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("torch"):
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
