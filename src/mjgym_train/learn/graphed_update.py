"""Updates as CUDA graphs: launching their many small kernels takes longer than running them."""

from typing import Any

import torch

from mjgym_train.learn.algorithms.agent import Metrics, require_finite
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch

WARM_UP = 3  # updates of each form that load kernels and make the optimisers' moments


class GraphedUpdate:
    """An agent's update of raw batches, launched as one graph for each of its forms.

    The first updates of a form run as they are; the next one is recorded, and from then on
    repeated. A loss that is not finite ends the run after the update, not before it.
    """

    def __init__(self, agent: OffPolicyAgent) -> None:
        self._agent = agent
        self._made: dict[Any, int] = {}  # updates of each form before its graph
        self._graphs: dict[Any, _Graph] = {}

    def __call__(self, batch: Batch) -> Metrics:
        """The update's losses; the next update of this form overwrites them."""
        agent, form = self._agent, self._agent.update_form
        if self._made.setdefault(form, 0) < WARM_UP:
            self._made[form] += 1
            return agent.update(agent.preprocess(batch))
        if form in self._graphs:
            agent.updates += 1  # on the CPU, which a graph does not count for
        else:
            self._graphs[form] = _Graph(agent, batch)
        losses = self._graphs[form].repeat(batch)
        require_finite(losses["critic_loss"].item())
        return losses


class _Graph:
    """A recorded update, which is repeated with other batches of the same size."""

    def __init__(self, agent: OffPolicyAgent, batch: Batch) -> None:
        self._batch = batch.mapped(torch.clone)
        self._graph: Any = torch.cuda.CUDAGraph()
        groups = [g for o in agent.optimizers().values() for g in o.param_groups]
        for group in groups:
            group["capturable"] = True
        # Other threads may go on calling CUDA.
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._losses = agent.update(agent.preprocess(self._batch))
        for group in groups:
            group["capturable"] = False

    def repeat(self, batch: Batch) -> Metrics:
        self._batch.mapped(torch.Tensor.copy_, batch)
        self._graph.replay()
        return self._losses
