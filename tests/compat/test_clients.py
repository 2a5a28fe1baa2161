"""The guide to clients: its blocks run, and what it says of other processes holds."""

import re
import tomllib

import gymnasium
import pytest

from helpers.guide_code import CLIENTS, need, run, sections
from helpers.lanes import mostly_nightly
from helpers.places import ROOT

GUIDE = CLIENTS.read_text()


@pytest.mark.parametrize("title", mostly_nightly(sections(apart=True), 2))
def test_a_section_runs(title, tmp_path, request):
    """That of the other sections runs in `test_package`."""
    need(title)
    if title == "RLlib":
        request.getfixturevalue("programs_join_ray")
    done = run(sections(apart=True)[title], tmp_path)
    assert done.returncode == 0, done.stderr


def table():
    row = r"^\| \[(.+?)\]\(#.+?\) \| (\S*) ?\| (?:`\.\[([\w-]+)\]`)?"
    rows = re.findall(row, GUIDE, re.MULTILINE)
    assert len(rows) == 7
    return rows


def test_extras_are_there_from_the_tested_versions_on():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = [(client, version, extra) for client, version, extra in table() if extra]
    assert len(named) == 5
    for client, version, extra in named:
        lowest = [re.search(r">=([\d.]+)", need).group(1) for need in extras[extra]]
        assert any(version.startswith(low) for low in lowest), client


@pytest.mark.weekly
def test_a_plain_id_is_not_found_in_another_process(tmp_path):
    """What the guide warns of; if this fails, the warning can go."""
    plain = run('import gymnasium; gymnasium.make("dmc/walker-walk-v0")', tmp_path)
    assert "NamespaceNotFound" in plain.stderr
    named = run('import gymnasium; gymnasium.make("mjgym:dmc/walker-walk-v0")', tmp_path)
    assert named.returncode == 0, named.stderr


@pytest.mark.weekly
def test_ids_with_the_package_in_front_go_to_spawned_processes():
    envs = gymnasium.make_vec(
        "mjgym:dmc/walker-walk-v0", 2, vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
    )  # fmt: skip
    single = gymnasium.make("dmc/walker-walk-v0")
    observations, _ = envs.reset(seed=4)
    assert (observations[1] == single.reset(seed=5)[0]).all()
    envs.close()
