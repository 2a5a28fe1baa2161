"""Walls of mazes as rectangles."""

from typing import Any, NamedTuple

from mjgym.tasks.locomotion.floor_plans import cover


class GridCoordinates(NamedTuple):
    """A row and a column."""

    y: int
    x: int


class MazeWall(NamedTuple):
    """A rectangle of cells; `end` is exclusive in both directions."""

    start: GridCoordinates
    end: GridCoordinates


def make_walls(
    text_maze: Any, wall_char: str = "*", make_odd_sized_walls: bool = False
) -> list[MazeWall]:
    """Cover all cells of a character by rectangles that do not overlap."""
    rows = ["".join(row) for row in text_maze]
    return [
        MazeWall(
            GridCoordinates(part.row, part.column),
            GridCoordinates(part.row + part.rows, part.column + part.columns),
        )
        for part in cover(rows, wall_char, odd=make_odd_sized_walls)
    ]
