"""One draw for several variations."""

import collections
from typing import Any

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate


class VariationBroadcaster:
    """One variation, shared by several proxies that read its values at different times."""

    def __init__(self, variation: Any) -> None:
        self._variation = variation
        self._waiting: list[collections.deque[Any]] = []

    def get_proxy(self) -> Variation:
        queue: collections.deque[Any] = collections.deque()
        self._waiting.append(queue)
        return _Proxy(self, queue)

    def refill(self, random_state: Any) -> None:
        value = evaluate(self._variation, random_state=random_state)
        for queue in self._waiting:
            queue.append(value)


class _Proxy(Variation):
    def __init__(self, broadcaster: VariationBroadcaster, queue: "collections.deque[Any]") -> None:
        self._broadcaster, self._queue = broadcaster, queue

    def __call__(
        self, initial_value: Any = None, current_value: Any = None, random_state: Any = None
    ) -> Any:
        if not self._queue:
            self._broadcaster.refill(random_state)
        return self._queue.popleft()

    __eq__ = object.__eq__
    __hash__ = object.__hash__
