"""`mjgym verify`: published environments beside ours."""

import datetime
import json
import random
import secrets

import pytest

from helpers import commands
from helpers.lanes import mostly_nightly
from mjgym import registry
from mjgym_compat import published_environments, verification
from mjgym_compat.published_environments import VerificationError

STEPS = "--steps=20"
SEED = secrets.randbelow(2**31)  # another one each time; a failure prints it


@pytest.mark.weekly
def test_gymnasiums_own_are_equal_to_the_last_bit(tmp_path):
    done = commands.run(
        *("verify", "gymnasium/Hopper-v5", "gymnasium/Ant-v5", "--seeds=2", STEPS),
        *("--seed", str(SEED), "--json"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for row in json.loads(done.stdout):
        assert row["holds"]
        assert row["seeds"] == [SEED, SEED + 1]
        assert set(row["differences"].values()) == {0.0}
        assert row["against"].startswith("gymnasium ")


@pytest.mark.parametrize("what", verification.DIFFERENCES)
def test_a_difference_is_seen_and_is_the_exit_status(what, monkeypatch, tmp_path):
    published = published_environments.OfGymnasium

    class Other(published):
        def start(self, seed):
            super().start(seed)
            self.model.geom_friction[1, 0] = 0.9 + 1e-6 * (what == "model")

        def step(self, action):
            super().step(action)
            shift = dict.fromkeys(verification.DIFFERENCES, 0.0) | {what: 1e-6}
            self.observation = {k: x + shift["observation"] for k, x in self.observation.items()}
            self.reward += shift["reward"]
            self.discount -= shift["discount"]
            self.data.qvel[0] += shift["state"]

    monkeypatch.setitem(published_environments.FAMILIES, "gymnasium", Other)
    found = verification.verify("gymnasium/Hopper-v5", [SEED], 5)
    beyond = {name for name, x in found.differences.items() if x > found.bound}
    assert what in beyond
    assert beyond <= {what, "observation", "state", "reward"}
    assert not found.holds


def test_a_match_of_humanoids_who_fall_over_one_another_is_equal_to_the_last_bit():
    """Its batch simulates with the published numbers, of which contacts magnify the 12th digit."""
    pytest.importorskip("dm_control", reason='needs pip install -e ".[dm-control]"')
    found = verification.verify("soccer/humanoid-1v1-v0", [SEED], 100)
    assert found.differences["state"] == found.differences["reward"] == 0.0
    assert found.holds, found


def test_an_id_without_a_published_environment_is_refused():
    with pytest.raises(VerificationError, match="only beside dmc"):
        verification.verify("legged/go1-joystick-v0", [0], 1)
    with pytest.raises(VerificationError, match="did you mean gymnasium/Hopper"):
        verification.verify("gymnasium/Hoper-v5", [0], 1)
    with pytest.raises(VerificationError, match="numbers of manipulation/reach_site_f"):
        verification.verify("manipulation/reach_site_vision-v0", [0], 1)
    with pytest.raises(VerificationError, match="draws its object"):
        verification.verify("robosuite/PickPlaceSingle-v0", [0], 1)


def test_a_missing_package_says_what_to_install(monkeypatch):
    def absent(package):
        raise ModuleNotFoundError("pip install it")

    monkeypatch.setattr(published_environments, "install", absent)
    with pytest.raises(VerificationError, match=r"cartpole.*pip install it"):
        verification.verify("dmc/cartpole-swingup-v0", [0], 1)


def of_the_day(count):
    """Ids of each published package, others on another day."""
    rng = random.Random(datetime.date.today().toordinal())
    kinds = published_environments.FAMILIES.items()
    return [
        id
        for space, kind in kinds
        for id in rng.sample(
            [id for id in registry.ids(namespace=space) if not kind.lacks(id)], count
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("id", of_the_day(4))
def test_published_environments_agree_live(id):
    package = published_environments.FAMILIES[id.partition("/")[0]].package
    # A module of robosuite: the folder of the tabletop's tests is a package of its name.
    pytest.importorskip({"robosuite": "robosuite.macros"}.get(package, package))
    found = verification.verify(id, [SEED], 30)
    assert found.holds, found
    assert found.steps, found


@pytest.mark.slow
def test_collision_boxes_lie_in_the_frames_of_adopted_inertias():
    pytest.importorskip("robosuite.macros")
    # A hammer on the table, whose handle begins to touch it within the first control step.
    found = verification.verify("robosuite/TwoArmHandover-v0", [12482921], 3)
    assert found.holds, found


IMAGES = (
    *("dmc/dog-run-v0", "dmc/dog-fetch-v0", "dmc/walker-walk-v0", "locomotion/rodent-run_gaps-v0"),
    *("locomotion/rodent-escape_bowl-v0", "locomotion/rodent-two_touch-v0"),
)


@pytest.mark.gl
@pytest.mark.parametrize("id", mostly_nightly(IMAGES, 3))
def test_published_look_equals_published_images(id):
    pytest.importorskip("dm_control")
    found = verification.frames(id, [SEED])
    assert found.where["image"]
    assert found.holds
    assert found.differences["image"] < 0.3, found


@pytest.mark.gl
@pytest.mark.slow
def test_published_look_of_a_maze():
    """Its lamp lights tiles a little more than the published planes."""
    pytest.importorskip("dm_control")
    found = verification.frames("locomotion/rodent-maze_forage-v0", [1])
    assert found.differences["image"] < 2 * verification.ALIKE, found


@pytest.mark.gl
@pytest.mark.weekly
def test_images_beyond_the_bound_are_the_exit_status(tmp_path):
    """Corridors of humanoids have a look of our own."""
    pytest.importorskip("dm_control")
    ids = "locomotion/cmu_humanoid-run_walls-v0", "dmc/dog-stand-v0"
    done = commands.run(
        "verify", *ids, "--frames", "--seed=3", "--seeds=1", "--json", folder=tmp_path
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [row["id"] for row in found] == [*ids]
    assert [row["holds"] for row in found] == [False, True]


def test_images_are_those_of_dm_control():
    with pytest.raises(VerificationError, match="dm_control alone"):
        verification.frames("gymnasium/Hopper-v5", [0])
