"""Mazes: recorded coverings and places, the statistics of random ones, and what they never do."""

import itertools
import json
from collections import Counter
from functools import cache
from math import sqrt

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.places import DATA
from mjgym.tasks.locomotion.floor_plans import (
    Maze,
    OPEN_7x7,
    Rectangle,
    cell_centre,
    cover,
    most_walls,
    parse,
    random_maze,
    scatter_targets,
    walls,
)

RECORDED = json.loads((DATA / "locomotion/mazes.json").read_text())
RANDOM = [r for r in RECORDED if "heterogeneous" not in r["scene"]]
FIXED = [r for r in RECORDED if "heterogeneous" in r["scene"]]
N = 1000
DIRECTIONS = ((-1, 0), (0, -1), (0, 1), (1, 0))


@pytest.fixture(scope="module")
def mazes():
    return [random_maze(np.random.default_rng(seed)) for seed in range(N)]


def sigmas(count, n, p):
    """How many standard deviations a count of n draws lies from its mean."""
    return abs(count - n * p) / sqrt(n * p * (1 - p))


def name(record):
    return f"{record['scene']}-{record['episode']}"


def recorded_maze(record):
    """The maze of a record, with its rooms as the letters have them."""
    letters = record["letters"]
    rooms = [cover(letters, c) for c in sorted(set("".join(letters)) - {"."})]
    assert all(len(room) == 1 for room in rooms)
    return Maze(tuple(record["rows"]), tuple(room[0] for room in rooms))


def boxes(maze, rectangles, size):
    """x and y of the centre and of the half sizes of each rectangle, m."""
    return [
        [*cell_centre(maze, *r.centre, size), r.columns * size / 2, r.rows * size / 2]
        for r in rectangles
    ]


def free_cells(maze):
    return {(i, j) for i, row in enumerate(maze.rows) for j, c in enumerate(row) if c != "*"}


def exits(cells, i, j):
    return {(di, dj) for di, dj in DIRECTIONS if (i + di, j + dj) in cells}


def edges_between_rooms(maze):
    """For each two rooms that face each other the cells where there could be a doorway."""
    letters, edges = maze.letters, {}
    for i, j in itertools.product(range(1, maze.height - 1), range(1, maze.width - 1)):
        if (i + j) % 2:
            di, dj = (0, 1) if i % 2 else (1, 0)
            sides = {letters[i - di][j - dj], letters[i + di][j + dj]} - {"."}
            if len(sides) == 2:
                edges.setdefault(frozenset(sides), []).append((i, j))
    return edges


# Records


@pytest.mark.parametrize("record", RECORDED, ids=name)
def test_the_walls_are_the_recorded_boxes_in_their_order(record):
    maze = parse("\n".join(record["rows"]))
    found = boxes(maze, walls(maze), record["cell"])
    assert np.shape(found) == np.shape(record["walls"])
    np.testing.assert_allclose(found, record["walls"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("record", RECORDED, ids=name)
def test_the_letters_and_the_floors_are_the_recorded_ones(record):
    maze = recorded_maze(record)
    assert list(maze.letters) == record["letters"]
    for letter, expected in record["floors"].items():
        found = boxes(maze, cover(maze.letters, letter), record["cell"])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("record", RECORDED, ids=name)
def test_spawns_and_targets_stand_where_they_were_recorded(record):
    maze = recorded_maze(record)
    for cells, expected in ((maze.spawns, record["spawns"]), (maze.targets, record["targets"])):
        found = [cell_centre(maze, *cell, record["cell"]) for cell in cells]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("record", RANDOM, ids=name)
def test_recorded_mazes_have_what_random_ones_always_have(record):
    check_structure(recorded_maze(record))


@pytest.mark.parametrize("record", FIXED, ids=name)
def test_recorded_fixed_mazes_are_the_open_square_with_five_more_targets(record):
    maze = recorded_maze(record)
    assert free_cells(maze) == free_cells(OPEN_7x7)
    assert maze.spawns == OPEN_7x7.spawns
    assert set(OPEN_7x7.targets) < set(maze.targets)
    assert len(maze.targets) == 6


# Random mazes


def check_structure(maze, per_room=(1, 3)):
    free = free_cells(maze)
    in_rooms = {cell for room in maze.rooms for cell in room.cells()}

    # A wall all around, and everything else in one piece.
    assert all(0 < i < maze.height - 1 and 0 < j < maze.width - 1 for i, j in free)
    reached, border = set(), [maze.rooms[0][:2]]
    while border:
        i, j = border.pop()
        if (i, j) not in reached:
            reached.add((i, j))
            border += [(i + di, j + dj) for di, dj in exits(free, i, j)]
    assert reached == free

    # Rooms are free, lie on odd cells and have a wall between them.
    assert in_rooms <= free
    assert len(in_rooms) == sum(room.rows * room.columns for room in maze.rooms)
    assert all(n % 2 for room in maze.rooms for n in room)
    for room, other in itertools.combinations(maze.rooms, 2):
        grown = Rectangle(room.row - 1, room.column - 1, room.rows + 2, room.columns + 2)
        assert not set(grown.cells()) & set(other.cells())

    # Each room has its spawns and targets; there are none elsewhere.
    for room in maze.rooms:
        inside = set(room.cells())
        assert len(inside & set(maze.spawns)) == per_room[0]
        assert len(inside & set(maze.targets)) == per_room[1]
    assert set(maze.spawns) | set(maze.targets) <= in_rooms

    # No corridor ends, and none goes around three sides of a cell unless between two rooms.
    for i, j in free - in_rooms:
        around = exits(free, i, j)
        assert len(around) >= 2
        if not (i % 2 and j % 2):
            continue
        for (bi, bj), (ai, aj) in itertools.permutations(around, 2):
            beyond = i + 2 * ai, j + 2 * aj
            if (
                len(around) == 2
                and bi * ai + bj * aj == 0
                and beyond not in in_rooms
                and exits(free, *beyond) == {(bi, bj), (-ai, -aj)}
            ):
                assert (i + 2 * bi, j + 2 * bj) in in_rooms
                assert (beyond[0] + 2 * bi, beyond[1] + 2 * bj) in in_rooms


@pytest.mark.slow
def test_every_maze_is_whole(mazes):
    for maze in mazes:
        assert (maze.height, maze.width) == (11, 11)
        check_structure(maze)


@pytest.mark.parametrize(
    ("shape", "options"),
    mostly_slow(
        [
            ((5, 5), {"room_stretch": 0}),
            ((7, 23), {}),
            ((23, 7), {}),
            ((21, 21), {"max_rooms": 6, "room_stretch": 4}),
            ((21, 21), {"max_rooms": 26, "extra_connection_probability": 0.3}),
            ((31, 31), {"max_rooms": 2, "room_side": 5}),
            ((11, 11), {"extra_connection_probability": 1.0}),
        ],
        4,
    ),
)
def test_mazes_of_other_settings_are_whole(shape, options):
    for seed in range(40):
        maze = random_maze(np.random.default_rng(seed), *shape, **options)
        assert (maze.height, maze.width) == shape
        assert 1 <= len(maze.rooms) <= options.get("max_rooms", 4)
        assert len(walls(maze)) <= most_walls(*shape)
        check_structure(maze)


@pytest.mark.slow
def test_two_rooms_that_face_each_other_have_one_doorway(mazes):
    for maze in mazes:
        for edges in edges_between_rooms(maze).values():
            assert sum(maze.rows[i][j] != "*" for i, j in edges) == 1


@cache
def room_numbers():
    """The probabilities of 0 to 4 rooms, by the rule and with all draws that there can be."""
    placements = []
    for rows, columns, share in ((2, 2, 1 / 2), (2, 3, 1 / 4), (3, 2, 1 / 4)):
        corners = list(itertools.product(range(6 - rows), range(6 - columns)))
        for i, j in corners:
            cells = itertools.product(range(i, i + rows), range(j, j + columns))
            placements.append((frozenset(cells), share / len(corners)))

    @cache
    def after(taken, n):
        weights = [(cells, w) for cells, w in placements if not cells & taken]
        if n == 4 or not weights:
            return np.eye(5)[n]
        total = sum(w for _, w in weights)
        return sum(w / total * after(taken | cells, n + 1) for cells, w in weights)

    return after(frozenset(), 0)


@pytest.mark.parametrize("rooms", [2, 3, 4])
def test_the_number_of_rooms_has_the_rule_s_distribution(mazes, rooms):
    count = sum(len(maze.rooms) == rooms for maze in mazes)
    assert sigmas(count, N, room_numbers()[rooms]) < 3


@pytest.mark.parametrize(("rooms", "measured"), [(2, 0.02), (3, 0.24), (4, 0.74)])
def test_the_number_of_rooms_is_within_the_error_of_the_measured_one(rooms, measured):
    """Measured on 400 mazes of the published generator."""
    p = room_numbers()[rooms]
    assert abs(p - measured) < 3 * sqrt(p * (1 - p) / 400)


@pytest.mark.parametrize(("size", "p"), [((3, 3), 1 / 2), ((3, 5), 1 / 4), ((5, 3), 1 / 4)])
def test_the_first_room_s_size_has_the_published_odds(mazes, size, p):
    # Later rooms are smaller on average, because they must fit.
    assert sigmas(sum(maze.rooms[0][2:] == size for maze in mazes), N, p) < 3


def test_the_first_room_may_be_anywhere_that_it_fits(mazes):
    corners = Counter(m.rooms[0][:2] for m in mazes if m.rooms[0][2:] == (3, 3))
    assert set(corners) == set(itertools.product((1, 3, 5, 7), repeat=2))
    n = sum(corners.values())
    assert sum((c - n / 16) ** 2 / (n / 16) for c in corners.values()) < 37.7  # 1 in 1000, 15 d.f.


def test_half_of_the_cells_are_free_as_measured(mazes):
    """Measured on 400 mazes of the published generator: 31 % to 55 %, about half."""
    shares = [len(free_cells(maze)) / 121 for maze in mazes[:400]]
    assert min(shares) == pytest.approx(0.31, abs=0.03)
    assert max(shares) == pytest.approx(0.55, abs=0.03)
    assert np.mean(shares) == pytest.approx(0.49, abs=0.015)


def test_spawns_and_targets_are_anywhere_in_a_room(mazes):
    for field, each in (("spawns", 1), ("targets", 3)):
        places = Counter()
        n = 0
        for maze in mazes:
            for room in maze.rooms:
                if room[2:] == (3, 3):
                    n += 1
                    places.update(
                        (i - room.row, j - room.column)
                        for i, j in set(room.cells()) & set(getattr(maze, field))
                    )
        assert len(places) == 9
        assert all(sigmas(count, n, each / 9) < 3.5 for count in places.values())


@pytest.mark.slow
def test_the_places_of_two_rooms_and_their_doorway_follow_the_rule():
    # In 3 x 7 cells the first room is left, in the middle or right; from the middle there is no
    # place for a second. Between two there are two places for the doorway.
    n, doorways = 2000, Counter()
    for seed in range(n):
        maze = random_maze(np.random.default_rng(seed), 5, 9, max_rooms=2, room_stretch=0)
        if len(maze.rooms) == 2:
            doorways.update(i for i in (1, 3) if maze.rows[i][4] != "*")
    pairs = sum(doorways.values())
    assert sigmas(pairs, n, 2 / 3) < 3
    assert sigmas(doorways[1], pairs, 1 / 2) < 3


@pytest.mark.slow
def test_extra_connections_open_further_doorways():
    opened = total = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        maze = random_maze(rng, extra_connection_probability=0.25)
        for edges in edges_between_rooms(maze).values():
            opened += sum(maze.rows[i][j] != "*" for i, j in edges) - 1
            total += len(edges) - 1
        maze = random_maze(rng, extra_connection_probability=1.0)
        for edges in edges_between_rooms(maze).values():
            assert all(maze.rows[i][j] != "*" for i, j in edges)
    assert sigmas(opened, total, 0.25) < 3


def test_the_seed_decides(mazes):
    again = [random_maze(np.random.default_rng(seed)) for seed in range(50)]
    assert again == mazes[:50]
    assert len({str(maze) for maze in mazes}) > 0.99 * N
    rng = np.random.default_rng(0)
    assert random_maze(rng) != random_maze(rng)


# Coverings


def check_cover(rows, character):
    rectangles = cover(rows, character)
    cells = [cell for r in rectangles for cell in r.cells()]
    assert len(cells) == len(set(cells))
    assert set(cells) == {
        (i, j) for i, row in enumerate(rows) for j, c in enumerate(row) if c == character
    }
    assert all(r.rows % 2 and r.columns % 2 for r in rectangles)
    assert [r[:2] for r in rectangles] == sorted(r[:2] for r in rectangles)
    return rectangles


def test_a_cover_holds_each_cell_once(mazes):
    for maze in mazes[:100]:
        check_cover(maze.rows, "*")
        for letter in ".ABCD":
            check_cover(maze.letters, letter)
    rng = np.random.default_rng(0)
    for _ in range(300):
        height, width = rng.integers(1, 10, size=2)
        noise = rng.random((height, width)) < rng.random()
        check_cover(["".join("*" if x else " " for x in row) for row in noise], "*")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["***", "***", "***"], [(0, 0, 3, 3)]),
        (["****"], [(0, 0, 1, 3), (0, 3, 1, 1)]),
        (["*", "*"], [(0, 0, 1, 1), (1, 0, 1, 1)]),
        # On ties the first, which has fewer rows.
        (["***", "*  ", "*  "], [(0, 0, 1, 3), (1, 0, 1, 1), (2, 0, 1, 1)]),
        # The rows below are narrower, and there is more in them.
        (["*****", "***  ", "***  "], [(0, 0, 3, 3), (0, 3, 1, 1), (0, 4, 1, 1)]),
        # An even row narrows those below it.
        (["*****", "** **", "*****"], [(0, 0, 1, 5), (1, 0, 1, 1), (1, 1, 1, 1)]),
        ([" *", "* "], [(0, 1, 1, 1), (1, 0, 1, 1)]),
        (["  "], []),
    ],
)
def test_covers_that_are_known(rows, expected):
    assert check_cover(rows, "*")[: len(expected)] == expected


def test_the_walls_are_never_more_than_their_bound(mazes):
    numbers = [len(walls(maze)) for maze in mazes]
    assert most_walls(11, 11) == 36
    assert max(numbers) <= 24
    assert np.mean(numbers) == pytest.approx(15, abs=0.5)


def test_mazes_with_too_many_walls_are_drawn_anew():
    for seed in range(20):
        free, limited = np.random.default_rng(seed), np.random.default_rng(seed)
        maze = random_maze(limited, max_walls=11)
        first = next(m for m in (random_maze(free) for _ in range(N)) if len(walls(m)) <= 11)
        assert maze == first


@pytest.mark.slow
def test_a_limit_of_walls_that_no_maze_keeps_is_an_error():
    # Two rooms are the fewest in 11 x 11 cells, and four rectangles enclose one.
    with pytest.raises(RuntimeError, match=r"at most 4 rectangles.*the fewest were \d"):
        random_maze(np.random.default_rng(0), max_walls=4)


# The open square


def test_the_open_square_s_targets_are_drawn_without_preference():
    n, places = 2000, Counter()
    for seed in range(n):
        maze = scatter_targets(np.random.default_rng(seed), OPEN_7x7, 6)
        assert len(maze.targets) == 6
        assert maze.spawns == ((2, 3),)
        assert free_cells(maze) == free_cells(OPEN_7x7)
        places.update(maze.targets)
    assert places.pop((4, 3)) == n
    assert len(places) == 23
    assert all(sigmas(count, n, 5 / 23) < 3.5 for count in places.values())


def test_scattering_keeps_the_rooms(mazes):
    maze = scatter_targets(np.random.default_rng(0), mazes[0], len(mazes[0].targets) + 2)
    assert maze.rooms == mazes[0].rooms
    assert set(mazes[0].targets) < set(maze.targets)
    full = scatter_targets(np.random.default_rng(0), OPEN_7x7, 24)
    assert len(full.targets) == 24
    assert scatter_targets(np.random.default_rng(0), OPEN_7x7, 1) == OPEN_7x7


# Places


@pytest.mark.slow
def test_the_text_and_back(mazes):
    assert parse(str(mazes[0])).rows == mazes[0].rows
    assert parse("\n*P*\n   \n\n") == Maze(("*P*", "   "))
    assert Maze(("*P*", "  G")).targets == ((1, 2),)
    assert Maze(("*P*", "  G")).letters == ("...", "...")


# Bad input


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at least one cell"),
        ("\n\n", "at least one cell"),
        ("***\n**", "row 1 of the maze has 2 cells, row 0 3"),
        ("***\n\n***", "row 1 of the maze has 0 cells"),
        ("***\n*x*", r"row 1, column 1 .*'x' means nothing.*'\*' \(wall\)"),
    ],
)
def test_text_that_is_no_maze(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_rooms_that_a_maze_cannot_have():
    with pytest.raises(ValueError, match=r"rows=3.* reaches out of a maze of 2 x 3"):
        Maze(("   ", "   "), (Rectangle(0, 0, 3, 1),))
    with pytest.raises(ValueError, match=r"row=-1.* reaches out"):
        Maze(("   ",), (Rectangle(-1, 0, 1, 1),))
    with pytest.raises(ValueError, match="at most 26 rooms, not 27"):
        Maze(("   ",), (Rectangle(0, 0, 1, 1),) * 27)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"height": 10}, ValueError, "height must be odd, not 10: the nearest are 9 and 11"),
        ({"width": 12}, ValueError, "width must be odd, not 12: the nearest are 11 and 13"),
        ({"width": 5}, ValueError, "width must be odd and at least 7, not 5: a room has up to 5"),
        ({"height": 11.0}, ValueError, "height: must be a whole number, got 11.0"),
        ({"height": True}, ValueError, "height: must be a whole number, got True"),
        ({"max_rooms": 0}, ValueError, "max_rooms: must be from 1 to 26, got 0"),
        ({"max_rooms": 27}, ValueError, "max_rooms: must be from 1 to 26, got 27"),
        ({"room_side": 4}, ValueError, "room_side must be odd, not 4: the nearest are 3 and 5"),
        ({"room_side": -1}, ValueError, "room_side must be odd and at least 1, not -1"),
        ({"room_stretch": 1}, ValueError, "must be even, not 1: the nearest are 0 and 2"),
        ({"room_stretch": -2}, ValueError, "room_stretch: must be at least 0, got -2"),
        ({"spawns_per_room": -1}, ValueError, "spawns_per_room: must be from 0 to 9, got -1"),
        ({"spawns_per_room": 10}, ValueError, "spawns_per_room: must be from 0 to 9, got 10"),
        ({"targets_per_room": -1}, ValueError, "targets_per_room: must be at least 0, got -1"),
        ({"targets_per_room": 9}, ValueError, "9 cells of a room: at most 8 targets do"),
        ({"extra_connection_probability": 1.5}, ValueError, "from 0 to 1, not 1.5"),
        ({"extra_connection_probability": float("nan")}, ValueError, "from 0 to 1, not nan"),
        ({"max_walls": 3}, ValueError, "max_walls: must be at least 4, got 3"),
    ],
)
def test_settings_without_sense(options, error, message):
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(error, match=message):
        random_maze(rng, **options)
    assert rng.bit_generator.state == before


def test_other_arguments_without_sense():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="count: must be from 1 to 24, got 25"):
        scatter_targets(rng, OPEN_7x7, 25)
    with pytest.raises(ValueError, match="count: must be from 1 to 24, got 0"):
        scatter_targets(rng, OPEN_7x7, 0)
    with pytest.raises(IndexError, match=r"row 7, column 0: .* rows 0 to 6 and columns 0 to 6"):
        cell_centre(OPEN_7x7, 7, 0, 1.0)
    with pytest.raises(IndexError, match="row 0, column -1"):
        cell_centre(OPEN_7x7, 0, -1, 1.0)
    with pytest.raises(ValueError, match="must be positive, got 0"):
        cell_centre(OPEN_7x7, 0, 0, 0)
    with pytest.raises(ValueError, match="width must be odd, not 8: the nearest are 7 and 9"):
        most_walls(11, 8)
    with pytest.raises(ValueError, match="height must be odd and at least 3, not 1"):
        most_walls(1, 11)
