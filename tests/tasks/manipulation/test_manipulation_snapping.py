"""Bricks that are pressed together, lifted, shaken and pulled apart, by forces on the upper one.

Measured (MuJoCo 4.0.0; a brick weighs 0.12 N):

* Laid on the studs of another one, a brick rests 4.5 mm too high; the reward is 0.09.
* Pressed where it stands out, with a force that grows by 100 N/s, it snaps in at 9 to 24 N when
  the lower one lies on the work top, and at 11 to 32 N when that one is fixed. Laid 0.5 mm askew on
  a fixed one, it jams at first and takes up to 85 N; with a force that grows by 20 N/s, 4 of 18
  ways to lay it on a fixed one did not snap below 100 N (all 18 on a free one did, at 7 to 18 N).
* It then stays, with a reward of 1, when the pair is lifted by the upper one, and when that is
  shaken sideways or up and down with up to 19 m/s^2. At 32 m/s^2 sideways it works loose, by 0.3 mm
  per second.
* It stays for 2 s under a pull of 8 N, and comes off at 10 N; at 16 N if the pull grows by 20 N/s,
  at 26 N if it grows by 100 N/s.
* The radius of the studs decides: pulled by 20 N/s more each second, pairs with studs of 4.5, 4.6,
  4.647 and 4.7 mm come off at 0.6, 12, 16 and 22 N.
"""

import numpy as np
import pytest

from helpers.lanes import mostly_nightly, mostly_slow
from helpers.manipulation_records import paid
from mjgym.resets import put
from mjgym.rotations import about_z
from mjgym.sim import Single
from mjgym.tasks.manipulation.arena import arena
from mjgym.tasks.manipulation.bricks import HEIGHT, Bricks, stack_poses

LOWER, UPPER = "duplo2x4", "duplo2x4_2"
WEIGHT = 0.0122874 * 9.81  # N, of a brick
TOP = (0.0, 0.0, HEIGHT)  # m, the middle of a brick's upper side
ON_STUDS = 0.0047  # m, above where it belongs, a brick lies on the studs of another
TICK = 0.01  # s, between two forces
SUBSTEPS = 5  # physics steps in a tick


class Pair:
    """Two bricks, and hands that pull or press the upper one.

    Args:
        free: whether the lower one lies freely on the work top.
        lifted: m, by how much the upper one is above where it belongs.
        aside: m, by how much it has been laid beside.
        yaw: rad, of both.
        turned: whether the upper one is turned by 180 degrees.
        radius: m, of the studs; None for the published one.
    """

    def __init__(self, *, free, lifted=0.0, aside=(0.0, 0.0), yaw=0.4, turned=False, radius=None):
        spec = arena()
        self.bricks = Bricks(2, 2, "free" if free else "first")
        self.bricks.add_to(spec)
        for geom in spec.geoms if radius else ():
            if "/stud_" in geom.name:
                geom.size[0] = radius
        self.single = Single(spec.compile(), ("body_pos", "body_quat"))
        self.single.restore_defaults()
        self.view, self.data = self.single.view, self.single.data
        self.bricks.want(self.view, [0, 1])
        places, quats = stack_poses((0, 0, 1e-6), about_z(yaw), [turned])
        put(self.view, f"{LOWER}/", places[0], quats[0])
        put(self.view, f"{UPPER}/", places[1] + np.array([*aside, lifted]), quats[1])
        self.view.forward()
        self.wait(0.2)

    @property
    def distance(self):
        return float(self.bricks.distances(self.view)[0])

    @property
    def reward(self):
        return float(paid(self.bricks.distances(self.view)))

    def wait(self, seconds):
        self.data.xfrc_applied[:] = 0
        self.view.step(round(seconds / self.single.model.opt.timestep))

    def point(self, local):
        """A point of the upper brick, in the world."""
        body = self.data.body(f"{UPPER}/")
        return body.xpos + body.xmat.reshape(3, 3) @ np.asarray(local)

    def push(self, force, point, torque=(0.0, 0.0, 0.0)):
        body = self.data.body(f"{UPPER}/")
        moment = np.cross(point - body.xipos, force) + torque
        self.data.xfrc_applied[body.id] = np.concatenate([force, moment])

    def press(self, rate=100.0, most=100.0):
        """Press harder and harder on the corner that stands out; the force (N) that was needed."""
        force = 0.0
        while self.distance > 1e-3 and force < most:
            force += rate * TICK
            corners = [self.data.site(f"{UPPER}/stud_{c}").xpos for c in ("00", "03", "10", "13")]
            self.push(np.array([0, 0, -force]), max(corners, key=lambda corner: corner[2]))
            self.view.step(SUBSTEPS)
        self.wait(0.5)
        return force

    def pull(self, rate, most=100.0):
        """Pull harder and harder on the middle of the top; the force (N) at which it comes off."""
        force = 0.0
        while self.distance < 5e-3 and force < most:
            force += rate * TICK
            self.push(np.array([0, 0, force]), self.point(TOP))
            self.view.step(SUBSTEPS)
        return force

    def carry(self, path, seconds):
        """Hold the upper brick by a firm hand whose place (m) and speed (m/s) the path tells.

        Returns:
            The least reward on the way.
        """
        timestep = self.single.model.opt.timestep
        body = self.data.body(f"{UPPER}/")
        start, upright = self.point(TOP), body.xmat.reshape(3, 3).copy()
        least = 1.0
        for i in range(round(seconds / timestep)):
            place, speed = path(i * timestep)
            at = self.point(TOP)
            turning, moving = body.cvel[:3], body.cvel[3:]
            velocity = moving + np.cross(turning, at - self.data.subtree_com[body.id])
            force = np.array([0, 0, 2 * WEIGHT]) + 150 * (start + place - at)
            force += 1.5 * (speed - velocity)
            off = upright @ body.xmat.reshape(3, 3).T
            tilt = np.array([off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1]])
            self.push(force, at, 0.075 * tilt - 0.002 * turning)
            self.view.step(1)
            least = min(least, self.reward)
        return least


def up(time):
    """10 cm in a second."""
    return np.array([0, 0, 0.1 * time]), np.array([0, 0, 0.1])


def shaking(axis, amplitude, frequency):
    direction, w = np.eye(3)[axis], 2 * np.pi * frequency

    def path(time):
        fade = min(1.0, time / 0.3)
        place = fade * amplitude * np.sin(w * time)
        return direction * place, direction * fade * amplitude * w * np.cos(w * time)

    return path


LAID = [(yaw, turned, aside) for yaw in (0.0, 0.4, 2.0) for turned in (False, True)
        for aside in ((0.0, 0.0), (0.0003, 0.0002))]  # fmt: skip


@pytest.mark.parametrize(("yaw", "turned", "aside"), mostly_slow(LAID, 5))
def test_a_brick_on_another_one_clicks_when_it_is_pressed(yaw, turned, aside):
    pair = Pair(free=True, lifted=ON_STUDS, yaw=yaw, turned=turned, aside=aside)
    assert pair.distance == pytest.approx(0.009, abs=5e-4)  # it rests on the studs
    assert pair.reward == pytest.approx(0.1 / 1.1, abs=1e-3)
    assert 5 < pair.press() < 30
    assert pair.reward == 1
    pair.wait(1.0)
    assert pair.reward == 1


@pytest.mark.parametrize(("yaw", "turned", "aside"), mostly_slow(LAID, 5))
def test_a_brick_clicks_onto_a_fixed_one(yaw, turned, aside):
    pair = Pair(free=False, lifted=ON_STUDS, yaw=yaw, turned=turned, aside=aside)
    assert 5 < pair.press() < 40
    assert pair.reward == 1


def test_a_gentle_touch_does_not_do():
    pair = Pair(free=True, lifted=ON_STUDS)
    for _ in range(100):
        pair.push(np.array([0, 0, -2.0]), pair.point(TOP))
        pair.view.step(SUBSTEPS)
    pair.wait(0.5)
    assert pair.reward < 0.1


@pytest.mark.parametrize("axis", mostly_nightly(range(3), 3))
@pytest.mark.parametrize(("amplitude", "frequency"), [(0.02, 3.0), (0.03, 4.0)])
def test_a_pair_stays_together_when_lifted_and_shaken(axis, amplitude, frequency):
    pair = Pair(free=True, lifted=ON_STUDS)
    pair.press()
    assert pair.carry(up, 1.0) == 1
    assert pair.data.body(f"{LOWER}/").xpos[2] > 0.09
    assert pair.carry(shaking(axis, amplitude, frequency), 2.0) == 1
    assert pair.data.body(f"{LOWER}/").xpos[2] > 0.05


def test_bricks_that_only_lie_on_each_other_are_not_lifted_together():
    pair = Pair(free=True, lifted=ON_STUDS)
    for _ in range(20):
        pair.push(np.array([0, 0, 1.5 * WEIGHT]), pair.point(TOP))
        pair.view.step(SUBSTEPS)
    assert pair.distance > 0.05
    assert pair.data.body(f"{LOWER}/").xpos[2] < 1e-5


@pytest.mark.slow
def test_a_pair_comes_apart_when_it_is_pulled_hard():
    for force, stays in ((8.0, True), (10.0, False)):
        pair = Pair(free=False, lifted=ON_STUDS)
        pair.press()
        for _ in range(200):
            pair.push(np.array([0, 0, force]), pair.point(TOP))
            pair.view.step(SUBSTEPS)
        assert (pair.reward == 1) == stays
    assert pair.reward < 0.1


@pytest.mark.slow
def test_the_radius_of_the_studs_decides_how_well_a_pair_holds():
    needed = [
        Pair(free=False, radius=radius).pull(20.0) for radius in (0.0045, 0.0046, None, 0.0047)
    ]
    assert needed == pytest.approx([0.6, 12.2, 16.6, 22.2], abs=1.0)
    assert Pair(free=False).pull(100.0) == pytest.approx(26, abs=2)
