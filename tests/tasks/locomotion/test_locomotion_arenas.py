"""Locomotion scenes against recorded numbers, and the statistics of the arenas that are drawn."""

from types import MappingProxyType

import numpy as np
import pytest

from helpers.lanes import lane, mostly_slow
from helpers.locomotion_records import (
    MAZES,
    NAMES,
    STATISTIC,
    Scripted,
    arena_geoms,
    make,
    placed,
    scene,
    spread,
    transitions,
    use_recorded_maze,
)
from mjgym.hilly_ground import interpolation
from mjgym.mjcf import add
from mjgym.sim import Batched, Single
from mjgym.sim.bounds import REFITTED
from mjgym.tasks.locomotion.arenas import bowl, find_arena
from mjgym.tasks.locomotion.arenas.corridors import PARKED
from mjgym.tasks.locomotion.floor_plans import SPAWN, TARGET, WALL

SEEDS = 1000
TOLERANCE = 1e-9
GAPS = {"gaps": "cmu_humanoid_run_gaps", "small_gaps": "rodent_run_gaps"}
MAZE_ARENAS = ("maze", "small_maze", "open_maze")
FLOAT = 1e-6  # of what the engine stores in single precision


@pytest.fixture(params=mostly_slow(NAMES, 4))
def name(request):
    return request.param


def equal(ours, recorded, label):
    scale = np.maximum(1, np.abs(recorded))
    np.testing.assert_allclose(
        np.ravel(ours / scale), np.ravel(recorded / scale), rtol=0, atol=TOLERANCE, err_msg=label
    )


def drawn_by(arena):
    """A simulation of an arena by itself, and a function that draws it anew with a seed."""
    place = find_arena(arena)
    simulation = Single(place.model().compile(), place.varies)

    def draw(seed):
        simulation.restore_defaults()
        place.draw(simulation.view, np.random.default_rng(seed))

    return place, simulation, draw


# Scenes of recorded numbers.


def test_a_scene_has_the_recorded_options(name):
    env = make(name)
    record = scene(name)
    for option, value in record["opt"].items():
        np.testing.assert_array_equal(getattr(env.model.opt, option), value, err_msg=option)
    assert env.physics_timestep == record["physics_timestep"]
    assert env.control_timestep == pytest.approx(record["control_timestep"], abs=1e-15)
    assert env.task.episode_steps() == record["steps"]
    env.close()


def test_a_scene_has_the_recorded_geoms(name):
    env = make(name)
    for episode in range(len(scene(name)["episodes"])):
        for field, values in placed(env, name, episode).items():
            getattr(env.model, field)[...] = values
        recorded = arena_geoms(name, episode)
        for part, fields in recorded.items():
            geom = env.model.geom(part)
            for field, value in fields.items():
                if part != "orb" or field != "geom_pos":  # its body moves it
                    equal(getattr(geom, field.removeprefix("geom_")), value, f"{part} {field}")
        # What collides and is not in the record lies far below everything else.
        for i in range(env.model.ngeom):
            part = env.model.geom(i)
            collides = part.contype[0] or part.conaffinity[0]
            if collides and not part.name.startswith("walker/") and part.name not in recorded:
                assert part.pos[2] == PARKED, part.name
    env.close()


@pytest.mark.parametrize("name", MAZES)
def test_a_recorded_maze_gives_the_recorded_walls_and_targets(name, monkeypatch):
    env = make(name)
    for episode in range(len(scene(name)["episodes"])):
        use_recorded_maze(monkeypatch, name, episode)
        env.reset(seed=0)
        recorded = arena_geoms(name, episode)
        for i in range(env.model.ngeom):
            part = env.model.geom(i)
            if part.name.startswith("wall_") and part.name in recorded:
                equal(part.size, recorded[part.name]["geom_size"], part.name)
                equal(part.pos, recorded[part.name]["geom_pos"], part.name)
            elif part.name.startswith("wall_"):
                assert part.pos[2] == PARKED, part.name
        # The record numbers the targets by what they are worth.
        theirs = [f["geom_pos"] for part, f in recorded.items() if part.startswith("target_")]
        ours = [env.model.geom(part).pos for part in env.task.surroundings.target_names()]
        standing = [tuple(np.round(pos, 9)) for pos in ours if pos[2] != PARKED]
        assert sorted(standing) == sorted(tuple(np.round(pos, 9)) for pos in theirs)
    env.close()


# Corridors.


@pytest.mark.slow
def test_walls_alternate_and_are_uniform():
    place, simulation, draw = drawn_by("walls")
    rows = simulation.view.rows("geom_size", place.names())
    parameters = scene("cmu_humanoid_run_walls")["parameters"]
    low, high = parameters["wall_width"][1:]
    sides = place.corridor_width / 2 * np.where(np.arange(25) % 2 == 0, 1, -1)
    widths = np.empty((SEEDS, 25))
    for seed in range(SEEDS):
        draw(seed)
        size, pos = simulation.model.geom_size[rows], simulation.model.geom_pos[rows]
        assert size.shape == (25, 3)
        widths[seed] = 2 * size[:, 1]
        # Flush with one side, then with the other.
        np.testing.assert_allclose(pos[:, 1] + np.sign(sides) * size[:, 1], sides, atol=1e-14)
        np.testing.assert_array_equal(pos[:, 0], 2 + 4 * np.arange(25))
        np.testing.assert_array_equal(pos[:, 2], size[:, 2])
        assert (size[:, 0] == parameters["wall_thickness"] / 2).all()
        assert (size[:, 2] == parameters["wall_height"] / 2).all()
    assert low <= widths.min()
    assert widths.max() <= high
    assert spread(widths, low, high) < STATISTIC
    # Each wall is drawn anew, whatever the one before it is.
    correlation = np.corrcoef(widths[:, 1:].ravel(), widths[:, :-1].ravel())[0, 1]
    assert abs(correlation) < 4 / np.sqrt(widths[:, 1:].size)


def platforms(place, simulation):
    """Where the platforms behind the first one begin and end, (n, 2) m; the rest is parked."""
    rows = simulation.view.rows("geom_size", place.names())
    size, pos = simulation.model.geom_size[rows], simulation.model.geom_pos[rows]
    used = pos[:, 2] != PARKED
    assert (np.diff(used.astype(int)) <= 0).all()  # the first ones are used
    assert (pos[~used, 2] == PARKED).all()
    assert (pos[used, 2] + size[used, 2] == 0).all()
    assert (pos[:, 1] == 0).all()
    assert (size[used, 1] == place.corridor_width / 2).all()
    return pos[used, :1] + size[used, :1] * (-1, 1)


@lane(0, 3)
@pytest.mark.parametrize(("arena", "name"), GAPS.items())
def test_platforms_and_gaps_are_uniform(arena, name):
    place, simulation, draw = drawn_by(arena)
    parameters = scene(name)["parameters"]
    shortest, longest = parameters["platform_length"][1:]
    narrowest, widest = parameters["gap_length"][1:]
    # So many platforms and gaps are in every episode; to look at more would favour short ones.
    first = parameters["first_platform"]
    always = int((place.corridor_length - first) / (longest + widest))
    lengths, gaps, counts = [], [], []
    for seed in range(SEEDS):
        draw(seed)
        edges = platforms(place, simulation)
        begin, end = edges.T
        assert begin[0] == pytest.approx(first, abs=1e-12)
        # As many as begin within the corridor.
        assert begin[-1] < place.corridor_length <= end[-1] + widest
        lengths.append((end - begin)[:always])
        gaps.append((begin[1:] - end[:-1])[: always - 1])
        counts.append(len(edges))
    assert spread(lengths, shortest, longest) < STATISTIC
    assert spread(gaps, narrowest, widest) < STATISTIC
    assert max(counts) < place.most()
    # Renewal theory (Feller 1971, XI.3): the mean and the variance of how many there are.
    mean = (shortest + longest + narrowest + widest) / 2
    variance = ((longest - shortest) ** 2 + (widest - narrowest) ** 2) / 12
    distance = place.corridor_length - first
    expected = distance / mean + (variance + mean**2) / (2 * mean**2)
    deviation = np.sqrt(distance * variance / mean**3)
    assert abs(np.mean(counts) - expected) < 4 * deviation / np.sqrt(SEEDS)
    assert np.std(counts) == pytest.approx(deviation, rel=0.1)


# Bowl.


def distance():
    """Of the terrain's points from its middle, in half widths of the field, (POINTS, POINTS)."""
    axis = np.linspace(-1, 1, bowl.POINTS)
    return np.hypot(axis[:, None], axis[None, :])


def smooth_bowl():
    """Height of the bowl without bumps, (POINTS, POINTS)."""
    return (1 - np.cos(2 * np.pi * np.clip(distance(), 0.1, 1))) / 2


def bumps_of(heights):
    """The bumps that a terrain has been made from, away from its edge; and what they leave over.

    There the bowl is not flat and the terrain tells the coefficients of its cubic spline.
    """
    inside = np.abs(np.linspace(-1, 1, bowl.POINTS)) <= 0.69
    places = np.linspace(0, bowl.BUMPS - 1, bowl.POINTS)[inside]
    x = np.abs(places[:, None] - np.arange(bowl.BUMPS))
    basis = np.where(x < 1, 2 / 3 - x**2 + x**3 / 2, np.clip(2 - x, 0, None) ** 3 / 6)
    basis = basis[:, basis.any(axis=0)]
    square = np.ix_(inside, inside)
    surface = heights[square] / smooth_bowl()[square]
    back = np.linalg.pinv(basis)
    coefficients = back @ surface @ back.T
    n = len(coefficients)
    at_knots = (np.eye(n, k=-1) + 4 * np.eye(n) + np.eye(n, k=1))[1:-1] / 6
    left_over = np.abs(basis @ coefficients @ basis.T - surface).max()
    return at_knots @ coefficients @ at_knots.T, left_over


def test_recorded_terrains_are_made_of_bumps_as_ours_are():
    place = find_arena("bowl")
    recorded = transitions("rodent_escape_bowl")["hfield_data"].astype(float)
    ours = [place.heights(np.random.default_rng(seed)) for seed in range(4)]
    for heights in (*recorded.reshape(-1, bowl.POINTS, bowl.POINTS), *ours):
        bumps, left_over = bumps_of(heights)
        assert left_over < FLOAT
        assert bumps.min() > 0.5 - FLOAT
        assert bumps.max() < 1 + FLOAT
        assert spread(bumps, 0.5, 1) < STATISTIC
        assert not heights[distance() > 1].any()
    given = np.random.default_rng(5).uniform(0.5, 1, (bowl.BUMPS, bowl.BUMPS))
    found, _ = bumps_of(place.heights(Scripted(uniform=[given])))
    margin = (bowl.BUMPS - len(found)) // 2
    inner = given[margin:-margin, margin:-margin]
    np.testing.assert_allclose(found, inner, atol=1e-9)


@lane(1, 3)
def test_terrains_have_a_ridge_half_way_and_bumps_of_the_right_spread():
    _, simulation, draw = drawn_by("bowl")
    shape = (bowl.POINTS, bowl.POINTS)
    total, squares = np.zeros(shape), np.zeros(shape)
    lowest, highest = np.inf, 0.0
    inside, outside = distance() < 0.98, distance() > 1
    ridge = smooth_bowl()[inside]
    for seed in range(SEEDS):
        draw(seed)
        heights = simulation.model.hfield_data.reshape(shape).astype(float)
        bumps = heights[inside] / ridge
        lowest, highest = min(lowest, bumps.min()), max(highest, bumps.max())
        assert not heights[outside].any()  # the rim is level with the plain
        total += heights
        squares += heights**2
    # The spline goes a little beyond its bumps, which are between 0.5 and 1.
    assert 0.3 < lowest < 0.45
    assert 1.05 < highest < 1.2
    mean = total[inside] / SEEDS / ridge
    deviation = np.sqrt(squares[inside] / SEEDS / ridge**2 - mean**2)
    # Of U(0.5, 1); between the bumps the spline averages them.
    exact = 0.5 / np.sqrt(12)
    assert np.abs(mean - 0.75).max() < 6 * exact / np.sqrt(SEEDS)
    norms = np.linalg.norm(interpolation(bowl.BUMPS, bowl.POINTS), axis=1)
    np.testing.assert_allclose(deviation, exact * np.outer(norms, norms)[inside], rtol=0.12)
    profile = total[bowl.POINTS // 2, bowl.POINTS // 2 :] / SEEDS
    assert abs(int(profile.argmax()) - bowl.POINTS // 4) <= 3


# Targets on the floor.


@pytest.mark.slow
def test_targets_are_anywhere_on_half_of_the_floor():
    env = make("cmu_humanoid_go_to_target")
    env.np_random = np.random.default_rng(0)
    low, high = scene("cmu_humanoid_go_to_target")["parameters"]["target_xy"][1:]
    places = np.empty((SEEDS, 3))
    for place in places:
        observation, _ = env.reset()
        place[:] = env.data.site("target").xpos
        root = env.data.body("walker/root")
        seen = (place - root.xpos) @ root.xmat.reshape(3, 3)
        np.testing.assert_allclose(observation["walker/target"], seen, atol=1e-12)
    for axis in range(2):
        assert spread(places[:, axis], low, high) < STATISTIC
    assert not places[:, 2].any()
    recorded = transitions("cmu_humanoid_go_to_target")["target_pos"]
    assert (np.abs(recorded[:, :2]) <= high).all()
    env.close()


# Mazes.


def characters(rows, character):
    """Where a maze has a character, (rows, columns) bool."""
    return np.array([[found == character for found in row] for row in rows])


def overlaps(centres, halves, cells, half_cell):
    """How much of each cell each box covers, (boxes, rows, columns) as a share."""
    reach = np.minimum(centres + halves, cells + half_cell)
    start = np.maximum(centres - halves, cells - half_cell)
    return np.prod(np.clip(reach - start, 0, None), axis=-1) / (2 * half_cell) ** 2


@pytest.mark.parametrize("arena", mostly_slow(MAZE_ARENAS, ["open_maze"]))
def test_walls_stand_on_the_walls_of_the_maze_and_targets_on_theirs(arena):
    place, simulation, _ = drawn_by(arena)
    view, model = simulation.view, simulation.model
    walls = view.rows("geom_pos", place.wall_names())
    targets = view.rows("geom_pos", place.target_names())
    steps = (np.arange(place.cells) - (place.cells - 1) / 2) * place.cell
    # Rows are read from the top: x to the right, y up.
    cells = np.stack(np.broadcast_arrays(steps[None, :], -steps[:, None]), axis=-1)
    for seed in range(200):
        maze = place.maze(np.random.default_rng(seed))
        simulation.restore_defaults()
        places = place.draw(view, np.random.default_rng(seed))
        pos, half = model.geom_pos[walls], model.geom_size[walls]
        stands = pos[:, 2] != PARKED
        np.testing.assert_allclose(pos[stands, 2], place.wall_height / 2, atol=1e-12)
        assert (half[stands, 2] == place.wall_height / 2).all()
        # One wall covers each wall's cell whole, and nothing of any other cell.
        boxes = pos[stands, None, None, :2], half[stands, None, None, :2]
        shares = overlaps(*boxes, cells, place.cell / 2)
        wall = characters(maze.rows, WALL)
        np.testing.assert_allclose(shares.max(axis=0), wall, atol=1e-9)
        np.testing.assert_allclose(shares.sum(axis=0), wall, atol=1e-9)
        area = 4 * np.prod(half[stands, :2], axis=1).sum()
        assert area == pytest.approx(wall.sum() * place.cell**2)
        for character, points in ((TARGET, places.targets), (SPAWN, places.spawns)):
            expected = cells[characters(maze.rows, character)]
            np.testing.assert_allclose(points[:, :2], expected, atol=1e-12)
            assert not points[:, 2].any()
        standing = model.geom_pos[targets][: len(places.targets)]
        np.testing.assert_allclose(standing[:, :2], places.targets[:, :2], atol=1e-12)
        assert (standing[:, 2] == place.target_height).all()
        # What is left over lies below the ground, where no walker comes.
        for rows, used in ((walls, stands.sum()), (targets, len(places.targets))):
            assert (model.geom_pos[rows][used:, 2] == PARKED).all()
            assert (PARKED + model.geom_rbound[rows][used:] < -1).all()


# The search for contacts.

BALL = 0.1  # m, radius of a ball that is dropped
ABOVE = np.array([0.0, 0.0, BALL + 0.02])  # m, from where


def with_ball(arena):
    """An arena with a free ball, compiled."""
    spec = find_arena(arena).model()
    spec.option.timestep = 0.002
    body = add(spec.worldbody, "body", name="ball", pos=(0, 0, 50))
    body.add_freejoint()
    add(body, "geom", name="ball", type="sphere", size=(BALL, 0, 0))
    return spec.compile()


def tops(arena, simulation, rng):
    """A place on top of each part that is far from where it was compiled, (n, 3) m."""
    place = find_arena(arena)
    names = place.wall_names() if "maze" in arena else place.names()
    rows = np.arange(simulation.model.ngeom)[simulation.view.rows("geom_pos", names)]
    compiled = simulation.model.geom_pos[rows].copy(), simulation.model.geom_size[rows].copy()
    place.draw(simulation.view, rng)
    pos, half = simulation.model.geom_pos[rows], simulation.model.geom_size[rows]
    top = pos + half * (0, 0, 1)
    if arena == "walls":  # the end of each wall at the corridor's side
        top[:, 1] += np.sign(top[:, 1]) * (half[:, 1] - 2 * BALL)
    away = np.abs(top - compiled[0]) > compiled[1] + BALL
    used = pos[:, 2] != PARKED
    return top[used & away.any(axis=1)]


def resting(top, ball):
    """Whether a ball lies on a place."""
    return np.abs(ball - top - (0, 0, BALL)).max() < 0.01


def above(place, tops, written=MappingProxyType({})):
    """Starts with a ball above each of some places, and with some fields of the model written."""

    def start(i, scratch):
        scratch.restore_defaults()
        place.draw(scratch.view, np.random.default_rng(3))
        for field, values in written.items():
            getattr(scratch.model, field)[...] = values
        scratch.data.qpos[:3] = tops[i] + ABOVE

    return start


@pytest.mark.parametrize("arena", mostly_slow(["walls", *GAPS, *MAZE_ARENAS], 3))
def test_a_ball_lies_on_what_has_been_moved(arena):
    place, model = find_arena(arena), with_ball(arena)
    simulation = Single(model, place.varies)
    simulation.restore_defaults()
    chosen = tops(arena, simulation, np.random.default_rng(3))
    assert len(chosen) >= 4
    batch = Batched(with_ball(arena), len(chosen), 2, place.varies)
    for i, top in enumerate(chosen):
        simulation.reset(above(place, [top]))
        simulation.step(np.zeros(0), 200)
        assert resting(top, simulation.data.qpos[:3]), i
    batch.reset(above(place, chosen))
    batch.step(np.zeros((len(chosen), 0)), 200)
    for top, ball in zip(chosen, batch.view.qpos[:, :3], strict=True):
        assert resting(top, ball)


@pytest.mark.parametrize("arena", ["walls", "gaps", "maze"])
def test_a_ball_would_fall_through_if_the_search_went_by_the_compiled_places(arena):
    place, model = find_arena(arena), with_ball(arena)
    simulation = Single(model, place.varies)
    simulation.restore_defaults()
    compiled = {field: getattr(model, field).copy() for field in REFITTED}
    fallen = 0
    chosen = tops(arena, simulation, np.random.default_rng(3))
    for top in chosen:
        simulation.reset(above(place, [top], compiled))
        simulation.step(np.zeros(0), 200)
        fallen += not resting(top, simulation.data.qpos[:3])
    assert fallen > 0
