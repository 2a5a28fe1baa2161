"""Inverse kinematics and random places of a tool, on the Jaco arm."""

import itertools

import mujoco
import numpy as np
import pytest

from helpers.jaco_facts import ARM, DOWN, FINGERS, HAND, JOINTS, TOOL, over_floor, transitions
from mjgym import mjcf
from mjgym.robots import place_tool, robot_contacts, solve
from mjgym.robots.inverse_kinematics import ranges
from mjgym.sim.single import Single

ARM_QPOS = slice(0, 6)
LOW, HIGH = (-0.2, -0.2, 0.02), (0.2, 0.2, 0.4)  # m, where the published task has the tool


@pytest.fixture(scope="module")
def view():
    return Single(over_floor().compile()).view


def pose(view):
    """Position and quaternion of the tool."""
    view.kinematics()
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, view.site(TOOL).xmat)
    return view.site(TOOL).xpos.copy(), quaternion


def robot_only(view):
    return robot_contacts(view, ARM, HAND)


@pytest.mark.weekly
def test_random_poses_are_reached(view):
    rng = np.random.default_rng(0)
    low, high = ranges(view, JOINTS)
    at_once = 0
    for _ in range(200):
        view.qpos[ARM_QPOS] = rng.uniform(low, high)
        position, quaternion = pose(view)
        for attempt in itertools.count():
            view.qpos[ARM_QPOS] = rng.uniform(low, high)
            solution = solve(view, TOOL, position, quaternion, JOINTS)
            if solution.success:
                break
            assert attempt < 30
        at_once += attempt == 0
        found, turn = pose(view)
        np.testing.assert_allclose(found, position, atol=1e-12)
        np.testing.assert_allclose(abs(turn @ quaternion), 1, atol=1e-12)
        assert solution.error < 1e-14
        np.testing.assert_array_equal(solution.qpos, view.qpos[ARM_QPOS])
        assert ((solution.qpos >= low) & (solution.qpos <= high)).all()
    assert at_once > 140


def test_published_starts_come_out(view):
    """Of the 20 recorded starts, two came from the first pose without a random one in between."""
    starts = np.concatenate([transitions()["reset_qpos"], transitions()["start_qpos"]])
    equal = []
    for recorded in starts[:, ARM_QPOS]:
        view.qpos[ARM_QPOS] = recorded
        position, _ = pose(view)
        view.qpos[ARM_QPOS] = 0
        solution = solve(view, TOOL, position, DOWN, JOINTS)
        if solution.success:
            np.testing.assert_allclose(solution.qpos, recorded, atol=1e-10)
            equal.append(solution.steps)
    assert equal == [27, 30]


def test_joints_are_shifted_into_their_ranges(view):
    low, high = ranges(view, JOINTS)
    inside = np.array([1.0, 2.0, 1.5, 4.0, 5.0, 6.0])
    view.qpos[ARM_QPOS] = inside
    position, quaternion = pose(view)
    view.qpos[ARM_QPOS] = inside + 2 * np.pi * np.array([1, -1, 2, -3, 1, -1])
    solution = solve(view, TOOL, position, quaternion, JOINTS)
    assert solution.success
    np.testing.assert_allclose(view.qpos[ARM_QPOS], inside, atol=1e-9)
    np.testing.assert_allclose(low, [0, 0.820305, 0.331613, 0, 0, 0])
    np.testing.assert_allclose(high, [2 * np.pi, 5.462881, 5.951573, *[2 * np.pi] * 3])


def test_a_solution_beyond_a_limit_is_a_failure(view):
    beyond = np.array([1.0, 0.4, 1.5, 4.0, 5.0, 6.0])  # the second joint's range begins at 0.82
    view.qpos[ARM_QPOS] = beyond
    position, quaternion = pose(view)
    solution = solve(view, TOOL, position, quaternion, JOINTS)
    assert solution.error < 1e-14
    assert not solution.success
    np.testing.assert_array_equal(view.qpos[ARM_QPOS], beyond)


def test_out_of_reach_leaves_all_as_it_was(view):
    view.qpos[ARM_QPOS] = 1.0, 2.0, 1.5, 4.0, 5.0, 6.0
    before, (position, _) = view.qpos.copy(), pose(view)
    for _ in range(3):
        solution = solve(view, TOOL, (0, 0, 3), DOWN, JOINTS)
        assert not solution.success
        assert solution.error > 1
        assert solution.steps <= 100
        np.testing.assert_array_equal(view.qpos, before)
        np.testing.assert_array_equal(view.site(TOOL).xpos, position)


def test_any_orientation(view):
    view.qpos[ARM_QPOS] = 1.0, 2.0, 1.5, 4.0, 5.0, 6.0
    position, _ = pose(view)
    solution = solve(view, TOOL, position + 0.1, None, JOINTS)
    assert solution.success
    np.testing.assert_allclose(view.site(TOOL).xpos, position + 0.1, atol=1e-13)


def test_joints_that_do_not_move_the_site_stay(view):
    view.qpos[:] = 1.0, 2.0, 1.5, 4.0, 5.0, 6.0, 0.3, 0.3, 0.3
    position, quaternion = pose(view)
    view.qpos[ARM_QPOS] += 0.05
    finger = f"{HAND}finger_1"
    assert solve(view, TOOL, position, quaternion, (*JOINTS, finger)).success
    np.testing.assert_allclose(view.joint(finger).qpos, 0.3, atol=1e-12)


def test_slides_are_moved_and_not_shifted():
    spec = mujoco.MjSpec.from_string("""
        <mujoco>
          <worldbody>
            <body>
              <joint name="along" type="slide" axis="1 0 0"/>
              <joint name="up" type="slide" axis="0 0 1" range="-1 1" limited="true"/>
              <geom size="0.1"/>
              <site name="tip" pos="0 0 0.5"/>
            </body>
            <body name="ball"><joint name="ball" type="ball"/><geom size="0.1"/></body>
          </worldbody>
        </mujoco>
    """)
    view = Single(spec.compile()).view
    assert solve(view, "tip", (20, 0, 1), None, ("along", "up")).success
    np.testing.assert_allclose(view.qpos[:2], [20, 0.5], atol=1e-12)
    assert not solve(view, "tip", (20, 0, 2), None, ("along", "up")).success
    with pytest.raises(ValueError, match="ball"):
        solve(view, "tip", (20, 0, 1), None, ("along", "ball"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((TOOL[:-1], (0, 0, 0.3), DOWN, JOINTS), KeyError, "pinchsite"),
        ((TOOL, (0, 0, 0.3), DOWN, (f"{ARM}joint_7",)), KeyError, "joint_6"),
        ((TOOL, (0, 0.3), DOWN, JOINTS), ValueError, "position"),
        ((TOOL, (0, 0, np.nan), DOWN, JOINTS), ValueError, "finite"),
        ((TOOL, (0, 0, 0.3), (0, 0, 0, 0), JOINTS), ValueError, "orientation"),
    ],
)
def test_bad_input_changes_nothing(view, arguments, error, message):
    before = view.qpos.copy()
    with pytest.raises(error, match=message):
        solve(view, *arguments)
    np.testing.assert_array_equal(view.qpos, before)


class TestPlaceTool:
    def place(self, view, rng, low=LOW, high=HIGH, **arguments):
        view.qpos[:] = 0
        place_tool(view, rng, TOOL, JOINTS, low, high, DOWN, contacts=robot_only, **arguments)

    def test_it_is_in_the_box_points_down_and_touches_nothing(self, view):
        rng = np.random.default_rng(1)
        places = []
        for _ in range(60):
            self.place(view, rng)
            position, quaternion = pose(view)
            places.append(position)
            np.testing.assert_allclose(abs(quaternion @ DOWN), 1, atol=1e-12)
            view.detect_contacts()
            assert robot_only(view) == []
        low, high = np.min(places, axis=0), np.max(places, axis=0)
        assert (low >= LOW).all()
        assert (high <= HIGH).all()
        assert (high - low > 0.8 * np.subtract(HIGH, LOW)).all()  # it is all over the box

    def test_the_same_seed_gives_the_same_place(self, view):
        found = []
        for _ in range(2):
            self.place(view, np.random.default_rng(7))
            found.append(view.qpos.copy())
        np.testing.assert_array_equal(*found)

    @pytest.mark.weekly
    def test_out_of_reach_is_said(self, view):
        with pytest.raises(RuntimeError, match=r"pinchsite.* 3\]: of 10 drawn, 10 could not"):
            self.place(view, np.random.default_rng(0), (0, 0, 3), (0, 0, 3))
        np.testing.assert_array_equal(view.qpos, 0)

    def test_contacts_are_said(self, view):
        """Its hand would be in the floor."""
        with pytest.raises(RuntimeError, match=r"had ground and jaco_arm/jaco_hand/\w+ touc"):
            self.place(view, np.random.default_rng(0), (0, 0, -0.1), (0, 0, -0.1))
        np.testing.assert_array_equal(view.qpos, 0)


class TestContacts:
    """Of the robot with itself, with a ball that can move and with one that cannot."""

    @pytest.fixture
    def crowd(self):
        spec = over_floor()
        for name, place in (("loose", (0.3, 0, 1)), ("fixed", (-0.2, 0, 0.3))):
            body = mjcf.add(spec.worldbody, "body", name=name, pos=place)
            if name == "loose":
                mjcf.add(body, "freejoint", name=name)
            mjcf.add(body, "geom", name=name, size=(0.05, 0, 0))
        return Single(spec.compile()).view

    @staticmethod
    def found(view, *angles, loose=(0.3, 0, 1)):
        """The names of the geoms of each contact that counts, without prefixes."""
        view.qpos[view.rows("qpos", JOINTS)] = angles
        view.joint("loose").qpos[:3] = loose
        view.detect_contacts()
        return [tuple(geom.rpartition("/")[2] for geom in pair) for pair in robot_only(view)]

    def test_stretched_up_nothing_touches(self, crowd):
        assert self.found(crowd, 0, np.pi, np.pi, 0, 0, 0) == []
        assert crowd.ncon == 0

    @pytest.mark.parametrize("body", [f"{HAND}hand", f"{ARM}b_3"])
    def test_what_is_loose_may_be_touched(self, crowd, body):
        self.found(crowd, 0, np.pi, np.pi, 0, 0, 0)
        there = crowd.body(body).xpos.copy()
        assert self.found(crowd, 0, np.pi, np.pi, 0, 0, 0, loose=there) == []
        assert crowd.ncon > 0

    def test_the_arm_in_itself(self, crowd):
        pairs = self.found(crowd, 0, np.pi, 0.35, 0, 0, 0)
        assert pairs
        assert all(name.startswith(("link", "ring", "base")) for pair in pairs for name in pair)

    def test_the_hand_in_the_floor(self, crowd):
        pairs = self.found(crowd, 0, 1, np.pi, 0, 0, 0)
        assert any("ground" in pair for pair in pairs)

    def test_the_hand_in_what_is_fixed(self, crowd):
        rng = np.random.default_rng(0)
        place_tool(crowd, rng, TOOL, JOINTS, (-0.2, 0, 0.2), (-0.2, 0, 0.2), DOWN)
        angles = crowd.qpos[crowd.rows("qpos", JOINTS)]
        assert any("fixed" in pair for pair in self.found(crowd, *angles))

    def test_fingers_may_touch_each_other(self, crowd):
        crowd.qpos[crowd.rows("qpos", FINGERS)] = 1.35
        assert self.found(crowd, 0, np.pi, np.pi, 0, 0, 0) == []
        assert crowd.ncon > 0
