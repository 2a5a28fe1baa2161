"""Mazes of rooms and corridors as text, drawn at random or written by hand."""

import functools
import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from mjgym.util.values import positive, whole_number

WALL, FREE, SPAWN, TARGET = "*", " ", "P", "G"
NO_ROOM = "."  # among the letters of the floor

Cell: TypeAlias = tuple[int, int]
"""A row, counted from the top, and a column, counted from the left."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIRECTIONS = ((-1, 0), (0, -1), (0, 1), (1, 0))
_DOORWAY = -1  # among region numbers
_DRAWS = 1000  # of one maze, before its limit of walls counts as too low


class Rectangle(NamedTuple):
    """`rows` x `columns` cells of a maze from the top left cell (`row`, `column`)."""

    row: int
    column: int
    rows: int
    columns: int

    @property
    def centre(self) -> Cell:
        """Cell in the middle; for an even number of cells the one after the middle."""
        return self.row + self.rows // 2, self.column + self.columns // 2

    def cells(self) -> Iterator[Cell]:
        """All cells, row by row."""
        return itertools.product(
            range(self.row, self.row + self.rows), range(self.column, self.column + self.columns)
        )


@dataclass(frozen=True)
class Maze:
    """A maze as text.

    Args:
        rows: a string for each row of cells, top first: '*' is wall, ' ' is free, 'P' is a free
            cell for walker starts, 'G' is a free cell with a target.
        rooms: rooms in the order of placement, at most 26; a maze written by hand has no rooms.

    Raises:
        ValueError: there are no cells, rows differ in length, a character is unknown, there are too
            many rooms, or one reaches out of the maze.
    """

    rows: tuple[str, ...]
    rooms: tuple[Rectangle, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0]:
            raise ValueError("a maze needs at least one cell")
        for i, row in enumerate(self.rows):
            if len(row) != self.width:
                raise ValueError(f"row {i} of the maze has {len(row)} cells, row 0 {self.width}")
            for j, character in enumerate(row):
                if character not in (WALL, FREE, SPAWN, TARGET):
                    raise ValueError(
                        f"row {i}, column {j} of the maze: {character!r} means nothing; there are "
                        f"{WALL!r} (wall), {FREE!r} (free), {SPAWN!r} (spawn), {TARGET!r} (target)"
                    )
        if len(self.rooms) > len(_LETTERS):
            raise ValueError(f"a maze has at most {len(_LETTERS)} rooms, not {len(self.rooms)}")
        for room in self.rooms:
            if (
                min(room) < 0
                or room.row + room.rows > self.height
                or room.column + room.columns > self.width
            ):
                raise ValueError(f"{room} reaches out of a maze of {self.height} x {self.width}")

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return len(self.rows[0])

    @property
    def spawns(self) -> tuple[Cell, ...]:
        return self._where(SPAWN)

    @property
    def targets(self) -> tuple[Cell, ...]:
        return self._where(TARGET)

    @property
    def letters(self) -> tuple[str, ...]:
        """Floor pattern of each cell, as rows of text.

        'A' is the floor of the first room, 'B' of the second and so on, '.' all outside of rooms.
        """
        grid = [[NO_ROOM] * self.width for _ in self.rows]
        for room, letter in zip(self.rooms, _LETTERS, strict=False):
            for i, j in room.cells():
                grid[i][j] = letter
        return tuple("".join(row) for row in grid)

    def __str__(self) -> str:
        return "\n".join(self.rows)

    def _where(self, character: str) -> tuple[Cell, ...]:
        return tuple(
            (i, j) for i, row in enumerate(self.rows) for j, c in enumerate(row) if c == character
        )


def parse(text: str) -> Maze:
    """Parse a maze written in the characters of `Maze`; empty lines around it are ignored."""
    return Maze(tuple(text.strip("\n").split("\n")))


def cell_centre(maze: Maze, row: int, column: int, size: float) -> tuple[float, float]:
    """Centre of a cell of side `size` (m) relative to that of the maze, x (right) and y (up), m."""
    if not (0 <= row < maze.height and 0 <= column < maze.width):
        raise IndexError(
            f"no cell at row {row}, column {column}: the maze has rows 0 to {maze.height - 1} and "
            f"columns 0 to {maze.width - 1}"
        )
    positive("size", size)
    return (column - (maze.width - 1) / 2) * size, ((maze.height - 1) / 2 - row) * size


def cover(rows: Sequence[str], character: str) -> list[Rectangle]:
    """Partition the cells of one character into rectangles, in order of selection.

    All have an odd number of cells both ways, so that each is centred on a cell. The rule is that
    of the published tasks: take the first uncovered cell, row by row. In each row from there down,
    measure the run of free cells of the character, no longer than in the rows above, and less one
    where that is even; stop at an empty row. Of the rectangles with an odd number of rows take the
    largest, the first on ties.

    Args:
        rows: a maze's `rows` or `letters`.
        character: which cells to cover.
    """
    left = [[c == character for c in row] for row in rows]
    taken = []
    for i, j in itertools.product(range(len(rows)), range(len(rows[0]))):
        if not left[i][j]:
            continue
        best = Rectangle(i, j, 0, 0)
        columns = len(rows[0]) - j
        for k, row in enumerate(left[i:], start=1):
            run = next((n for n in range(columns) if not row[j + n]), columns)
            if run == 0:
                break
            columns = run - (run + 1) % 2
            if k % 2 and k * columns > best.rows * best.columns:
                best = Rectangle(i, j, k, columns)
        for row_held, column_held in best.cells():
            left[row_held][column_held] = False
        taken.append(best)
    return taken


def walls(maze: Maze) -> list[Rectangle]:
    return cover(maze.rows, WALL)


def most_walls(height: int, width: int) -> int:
    """Upper bound of the number of wall rectangles of a random maze with odd numbers of cells.

    It is the number of cells with an even row and an even column, about twice the usual number.
    `random_maze` stays within it.
    """
    height = _odd("height", height, 3)
    width = _odd("width", width, 3)
    return (height + 1) // 2 * ((width + 1) // 2)


OPEN_7x7 = parse("""
*******
*     *
*  P  *
*     *
*  G  *
*     *
*******
""")
"""A square of 5 x 5 free cells; `scatter_targets` adds all targets but the one that stays."""


def scatter_targets(rng: np.random.Generator, maze: Maze, count: int) -> Maze:
    """Add targets in random free cells, uniformly, to those of a maze; starts stay free of them.

    With `OPEN_7x7` and 6 targets it is the arena of the published heterogeneous foraging task.
    """
    present, free = len(maze.targets), maze._where(FREE)
    count = whole_number("count", count, present, present + len(free))
    grid = [list(row) for row in maze.rows]
    for k in rng.permutation(len(free))[: count - present].tolist():
        i, j = free[k]
        grid[i][j] = TARGET
    return Maze(tuple("".join(row) for row in grid), maze.rooms)


def random_maze(
    rng: np.random.Generator,
    height: int = 11,
    width: int = 11,
    *,
    max_rooms: int = 4,
    room_side: int = 3,
    room_stretch: int = 2,
    spawns_per_room: int = 1,
    targets_per_room: int = 3,
    extra_connection_probability: float = 0.0,
    max_walls: int | None = None,
) -> Maze:
    """Draw a maze of rooms connected by corridors and doorways; all free cells are reachable.

    The defaults are those of the published maze tasks (Tunyasuvunakool et al., "dm_control:
    Software and tasks for continuous control", 2020). Rooms are placed one by one, with random
    sizes and positions, until there are `max_rooms` or no more fit; with the defaults there are 4
    in 70 %, 3 in 29 % and 2 in 2 % of the mazes. Depth-first corridors fill the rest, and each two
    adjacent regions get a doorway. Then dead ends become wall, and U-shaped detours are cut short.

    Args:
        rng: random generator; the same state gives the same maze.
        height: number of rows, odd; the first and the last are wall.
        width: number of columns, odd; the first and the last are wall.
        max_rooms: largest number of rooms, 1 to 26.
        room_side: side of a square room, an odd number of cells.
        room_stretch: largest elongation of a room, an even number of cells. Each even number up to
            it is equally likely, and so are both directions. With the defaults half of the draws
            are 3 x 3 and a quarter each 3 x 5 and 5 x 3.
        spawns_per_room: number of walker start cells per room.
        targets_per_room: number of target cells per room.
        extra_connection_probability: probability of each possible further doorway between two
            regions, 0 to 1.
        max_walls: a maze with more rectangles in `walls` is redrawn; None and higher numbers mean
            `most_walls(height, width)`. With the defaults that is 36; none of 100,000 mazes had
            more than 24, so no maze is excluded.
    """
    room_side = _odd("room_side", room_side, 1)
    room_stretch = whole_number("room_stretch", room_stretch, 0)
    if room_stretch % 2:
        raise ValueError(
            f"room_stretch must be even, not {room_stretch}: the nearest are {room_stretch - 1} "
            f"and {room_stretch + 1}"
        )
    longest = room_side + room_stretch
    height = _odd("height", height, longest + 2, f": a room has up to {longest} rows")
    width = _odd("width", width, longest + 2, f": a room has up to {longest} columns")
    max_rooms = whole_number("max_rooms", max_rooms, 1, len(_LETTERS))
    spawns_per_room = whole_number("spawns_per_room", spawns_per_room, 0, room_side**2)
    targets_per_room = whole_number("targets_per_room", targets_per_room, 0)
    if spawns_per_room + targets_per_room > room_side**2:
        raise ValueError(
            f"{spawns_per_room} spawns and {targets_per_room} targets do not fit in the "
            f"{room_side**2} cells of a room: at most {room_side**2 - spawns_per_room} targets do"
        )
    if not 0 <= extra_connection_probability <= 1:
        raise ValueError(
            f"extra_connection_probability must be from 0 to 1, not {extra_connection_probability}"
        )
    limit = most_walls(height, width)
    if max_walls is not None:
        limit = min(limit, whole_number("max_walls", max_walls, 4))  # four enclose a room
    fewest = height * width
    for _ in range(_DRAWS):
        rooms = _place_rooms(rng, height, width, max_rooms, room_side, room_stretch)
        plan = _Plan(height, width, rooms)
        plan.grow_corridors(rng)
        plan.open_doorways(rng, extra_connection_probability)
        plan.simplify()
        grid = plan.text()
        for room in rooms:
            cells = list(room.cells())
            order = rng.permutation(len(cells)).tolist()
            for n, k in enumerate(order[: spawns_per_room + targets_per_room]):
                i, j = cells[k]
                grid[i][j] = SPAWN if n < spawns_per_room else TARGET
        maze = Maze(tuple("".join(row) for row in grid), rooms)
        count = len(walls(maze))
        if count <= limit:
            return maze
        fewest = min(fewest, count)
    raise RuntimeError(
        f"no maze with at most {limit} rectangles of wall in {_DRAWS} draws: the fewest were "
        f"{fewest}"
    )


def _odd(name: str, value: int, low: int, why: str = "") -> int:
    """Return the value as an int, or raise if it is not whole, not odd or below `low`."""
    value = whole_number(name, value, -(2**63))
    if value < low:
        raise ValueError(f"{name} must be odd and at least {low}, not {value}{why}")
    if value % 2 == 0:
        nearest = f"{value - 1} and {value + 1}" if value > low else str(value + 1)
        raise ValueError(f"{name} must be odd, not {value}: the nearest are {nearest}")
    return value


class _Placement(NamedTuple):
    room: Rectangle
    cells: int  # a bit for each odd cell inside the room
    weight: float  # probability of a draw in an empty maze


@functools.lru_cache(maxsize=32)
def _placements(height: int, width: int, side: int, stretch: int) -> tuple[_Placement, ...]:
    """All rooms that fit into an empty maze, each with its probability."""
    lengths = range(side, side + stretch + 1, 2)
    placements = []
    for longer in lengths:
        for rows, columns in sorted({(longer, side), (side, longer)}):
            share = 1 / len(lengths) / (1 if longer == side else 2)
            tops, lefts = range(1, height - rows, 2), range(1, width - columns, 2)
            for top, left in itertools.product(tops, lefts):
                room = Rectangle(top, left, rows, columns)
                cells = sum(1 << (i * width + j) for i, j in room.cells() if i % 2 and j % 2)
                placements.append(_Placement(room, cells, share / (len(tops) * len(lefts))))
    return tuple(placements)


def _place_rooms(
    rng: np.random.Generator, height: int, width: int, most: int, side: int, stretch: int
) -> tuple[Rectangle, ...]:
    """Draw rooms that do not overlap; their sides are at odd rows and columns, with walls between.

    Drawing among the placements that still fit is equivalent to redrawing size and place until they
    fit, but also ends when nothing fits.
    """
    fitting: Sequence[_Placement] = _placements(height, width, side, stretch)
    rooms: list[Rectangle] = []
    while fitting and len(rooms) < most:
        sums = list(itertools.accumulate(p.weight for p in fitting))
        # Rounding can make the product the last sum itself.
        drawn = fitting[min(bisect_right(sums, rng.random() * sums[-1]), len(sums) - 1)]
        rooms.append(drawn.room)
        fitting = [p for p in fitting if not p.cells & drawn.cells]
    return tuple(rooms)


class _Plan:
    """Maze under construction.

    Cells with an odd row and column are nodes, those between two nodes are edges, and those with an
    even row and column are wall or inside a room. A free cell holds its region's number (rooms from
    1, then corridors) or the doorway mark; 0 is wall.
    """

    def __init__(self, height: int, width: int, rooms: Sequence[Rectangle]) -> None:
        self._height, self._width = height, width
        self._rooms = len(rooms)
        self._region = [[0] * width for _ in range(height)]
        for number, room in enumerate(rooms, start=1):
            for i, j in room.cells():
                self._region[i][j] = number

    def text(self) -> list[list[str]]:
        return [[FREE if region else WALL for region in row] for row in self._region]

    def grow_corridors(self, rng: np.random.Generator) -> None:
        """Start a depth-first walk in steps of two cells at each node that is still wall."""
        region = self._region
        number = self._rooms
        for i, j in self._nodes():
            if region[i][j]:
                continue
            number += 1
            region[i][j] = number
            path = [(i, j)]
            while path:
                i_now, j_now = path[-1]
                steps = [
                    (di, dj)
                    for di, dj in _DIRECTIONS
                    if 0 < i_now + 2 * di < self._height
                    and 0 < j_now + 2 * dj < self._width
                    and not region[i_now + 2 * di][j_now + 2 * dj]
                ]
                if not steps:
                    path.pop()
                    continue
                di, dj = steps[int(rng.integers(len(steps)))]
                region[i_now + di][j_now + dj] = region[i_now + 2 * di][j_now + 2 * dj] = number
                path.append((i_now + 2 * di, j_now + 2 * dj))

    def open_doorways(self, rng: np.random.Generator, extra: float) -> None:
        """Open one edge between each two adjacent regions, and others by chance."""
        region = self._region
        between: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for i, j in itertools.product(range(1, self._height - 1), range(1, self._width - 1)):
            if (i + j) % 2 and not region[i][j]:
                if i % 2:
                    sides = region[i][j - 1], region[i][j + 1]
                else:
                    sides = region[i - 1][j], region[i + 1][j]
                if sides[0] != sides[1]:
                    between.setdefault((min(sides), max(sides)), []).append((i, j))
        for edges in between.values():
            doorway = int(rng.integers(len(edges)))
            for k, (i, j) in enumerate(edges):
                if k == doorway or (extra > 0 and rng.random() < extra):
                    region[i][j] = _DOORWAY

    def simplify(self) -> None:
        """Fill dead ends and shorten detours until none are left."""
        self._fill_dead_ends()
        while self._cut_detours():
            self._fill_dead_ends()

    def _nodes(self) -> Iterator[Cell]:
        return itertools.product(range(1, self._height, 2), range(1, self._width, 2))

    def _in_room(self, i: int, j: int) -> bool:
        return 0 < self._region[i][j] <= self._rooms

    def _exits(self, i: int, j: int) -> set[Cell]:
        return {(di, dj) for di, dj in _DIRECTIONS if self._region[i + di][j + dj]}

    def _fill_dead_ends(self) -> None:
        region = self._region
        doubtful = list(itertools.product(range(self._height), range(self._width)))
        while doubtful:
            i, j = doubtful.pop()
            if region[i][j] and not self._in_room(i, j):
                exits = self._exits(i, j)
                if len(exits) <= 1:
                    region[i][j] = 0
                    doubtful += [(i + di, j + dj) for di, dj in exits]

    def _cut_detours(self) -> bool:
        """Replace corridors around three sides of a cell by one through the fourth.

        At most one end of the detour may be a room: two rooms have one doorway.
        """
        region = self._region
        changed = False
        for i, j in self._nodes():
            if not region[i][j] or self._in_room(i, j):
                continue
            exits = self._exits(i, j)
            if len(exits) != 2:
                continue
            # The corridor comes from the node at `back` and turns towards the next one.
            for back, ahead in itertools.permutations(sorted(exits)):
                (bi, bj), (ai, aj) = back, ahead
                i_next, j_next = i + 2 * ai, j + 2 * aj
                if (
                    bi * ai + bj * aj == 0
                    and not self._in_room(i_next, j_next)
                    and self._exits(i_next, j_next) == {back, (-ai, -aj)}
                    and not (
                        self._in_room(i + 2 * bi, j + 2 * bj)
                        and self._in_room(i_next + 2 * bi, j_next + 2 * bj)
                    )
                ):
                    region[i + 2 * bi + ai][j + 2 * bj + aj] = _DOORWAY
                    for k, m in (
                        (i + bi, j + bj),
                        (i, j),
                        (i + ai, j + aj),
                        (i_next, j_next),
                        (i_next + bi, j_next + bj),
                    ):
                        region[k][m] = 0
                    changed = True
                    break
        return changed
