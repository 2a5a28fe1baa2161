"""Times at which an entry is read and a reading becomes visible, in physics steps of an episode."""

import math

import numpy as np

from mjgym.observables.observable import Observable
from mjgym.observables.streams import Stream
from mjgym.variation.distributions import Constant, Distribution

NEVER = np.iinfo(np.int64).max // 2


def schedule(observable: Observable, n: int, substeps: int) -> "Fixed | RandomIntervals":
    """The schedule of an entry of n simulations that are observed every `substeps` steps."""
    random = any(
        isinstance(v, Distribution) for v in (observable.update_interval, observable.delay)
    )
    return RandomIntervals(observable, n, substeps) if random else Fixed(observable, substeps)


class Fixed:
    """A constant interval and delay: reading j is taken at step j * interval of the episode."""

    def __init__(self, observable: Observable, substeps: int) -> None:
        interval, delay = int(observable.update_interval), int(observable.delay)  # type: ignore[arg-type]
        self._interval, self._delay = interval, delay
        self._substeps = substeps
        self._back = np.arange(observable.buffer_size)[::-1]
        self.size = observable.buffer_size + -(-delay // interval)
        # A row for each phase at which a control step may begin, a column for each of its steps.
        self._phases = math.lcm(interval, substeps) // substeps
        begins = substeps * np.arange(self._phases)[:, None]
        time = begins + np.arange(1, substeps + 1)
        seen_first = -(-(time + delay) // substeps) * substeps  # the first observation after it
        newer = (seen_first - delay) // interval - time // interval  # also visible then
        self._needed = (time % interval == 0) & (newer < observable.buffer_size)

    def seed(self, i: int, rng: np.random.Generator) -> None:
        """Do nothing: nothing is random."""

    def restart(self, rows: np.ndarray, time: np.ndarray) -> None:
        """Do nothing: this schedule has no state."""

    def needed(self, time: np.ndarray) -> np.ndarray:
        """Mask of the next control step's readings that will be seen, (n, substeps) bool."""
        if self._phases == 1:
            return np.broadcast_to(self._needed, (len(time), self._substeps))
        return np.asarray(self._needed[time // self._substeps % self._phases])

    def place(self, rows: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Slots for the readings that some simulations take at a time, (len(rows),)."""
        return np.asarray(time // self._interval % self.size)

    def shown(self, time: np.ndarray) -> np.ndarray:
        """Slots of the readings in an observation, oldest first, (n, buffer_size)."""
        newest = (time - self._delay) // self._interval
        return np.asarray((newest[:, None] - self._back) % self.size)

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Continue from a state."""


class RandomIntervals:
    """Random intervals or delays, with future readings planned as far ahead as needed.

    A reading that arrives before an older one is shown first; the older one is then shown only if
    the buffer has room behind the newer.
    """

    def __init__(self, observable: Observable, n: int, substeps: int) -> None:
        interval, delay = (
            v if isinstance(v, Distribution) else Constant(v)
            for v in (observable.update_interval, observable.delay)
        )
        self._substeps = substeps
        self._buffer = observable.buffer_size
        self._streams = {"interval": Stream(interval, n, ()), "delay": Stream(delay, n, ())}
        longest = math.ceil(delay.support[1])
        # A reading of the next control step can displace another one until it has arrived itself.
        self._ahead = 2 * substeps + longest
        shortest = max(1, round(interval.support[0]))
        self.size = self._buffer + -(-(self._ahead + longest + substeps) // shortest) + 2
        self._time = np.zeros((n, self.size), dtype=np.int64)
        self._arrival = np.zeros((n, self.size), dtype=np.int64)
        self._number = np.zeros((n, self.size), dtype=np.int64)
        self._last = np.zeros(n, dtype=np.int64)  # number of the last planned reading
        plan = {"time": self._time, "arrival": self._arrival, "number": self._number}
        self._planned = {**plan, "last": self._last}

    def seed(self, i: int, rng: np.random.Generator) -> None:
        for stream, stream_rng in zip(self._streams.values(), rng.spawn(2), strict=True):
            stream.seed(i, stream_rng)

    def restart(self, rows: np.ndarray, time: np.ndarray) -> None:
        """Restart episodes at their first readings, which are visible immediately."""
        back = np.arange(self.size) - self.size  # as if preceded by others
        back[0] = 0
        self._number[rows] = back
        self._time[rows] = time[:, None] + np.minimum(back, 0)
        self._arrival[rows] = self._time[rows]
        self._last[rows] = 0
        self._plan(rows, time)

    def _plan(self, rows: np.ndarray, time: np.ndarray) -> None:
        while True:
            last = self._last[rows]
            at = self._time[rows, last % self.size]
            short = at <= time + self._ahead
            if not short.any():
                return
            rows, time, last, at = rows[short], time[short], last[short] + 1, at[short]
            interval = np.maximum(np.rint(self._streams["interval"].take(rows)), 1).astype(np.int64)
            delay = np.maximum(np.rint(self._streams["delay"].take(rows)), 0).astype(np.int64)
            place = last % self.size
            self._last[rows] = last
            self._number[rows, place] = last
            self._time[rows, place] = at + interval
            self._arrival[rows, place] = at + interval + delay

    def needed(self, time: np.ndarray) -> np.ndarray:
        """Mask of the next control step's readings that will be seen, (n, substeps) bool."""
        self._plan(np.arange(len(time)), time)
        n, begin = self._substeps, time[:, None]
        row, place = np.nonzero((self._time > begin) & (self._time <= begin + n))
        arrival = self._arrival[row, place]
        # The first observation after its arrival, and the newer readings that have arrived by then.
        seen_first = -(-arrival // n) * n
        newer = self._number[row] > self._number[row, place][:, None]
        there = self._arrival[row] <= seen_first[:, None]
        wanted = (newer & there).sum(axis=-1) < self._buffer
        row, place = row[wanted], place[wanted]
        needed = np.zeros((len(time), n), dtype=bool)
        needed[row, self._time[row, place] - time[row] - 1] = True
        return needed

    def place(self, rows: np.ndarray, time: np.ndarray) -> np.ndarray:
        return np.asarray((self._time[rows] == time[:, None]).argmax(axis=-1))

    def shown(self, time: np.ndarray) -> np.ndarray:
        """Slots of the readings in an observation, oldest first, (n, buffer_size)."""
        arrived = np.where(self._arrival <= time[:, None], self._number, -NEVER)
        return np.argsort(arrived, axis=-1, kind="stable")[:, -self._buffer :]

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The state of the schedule, to continue from."""
        planned = {name: values[rows] for name, values in self._planned.items()}
        return planned | {name: stream.state(rows) for name, stream in self._streams.items()}

    def restore(self, state: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Continue from a state."""
        for name, values in self._planned.items():
            values[rows] = state[name]
        for name, stream in self._streams.items():
            stream.restore(rows, state[name])
