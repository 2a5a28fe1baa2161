"""`.ci/run`: what fails the run, and what it tries again."""

import subprocess
import sys

import pytest

from helpers.places import ROOT

RUN = ROOT / ".ci" / "run"
# Its own functions and its end; environments, installing and pytest are replaced.
PROGRAM = r"""
set -euo pipefail
work=$PWD; noted=cache/good/v/cache; mkdir -p .ci "$noted"; touch failed again .ci/flaky.txt
cp "$FLAKY" .ci/flaky.txt
for name in lane layer none_at_night tests again lane_in; do
  eval "$(sed -n "/^$name() {/,/^}/p" "$RUN")"
done
python3() { mkdir -p "$3/bin"; echo "VIRTUAL_ENV=$3" >"$3/bin/activate"; }
install() { [ "$1" != absent ]; }
python() {
  case "$*" in
    "-c "*) echo "$PWD" ;;
    "- "*) [ -e "$2" ] && cat "$2" || echo "a whole lane" ;;
    *empty*) return 5 ;;
    *"-n 0"*) echo "again $*"; [[ "$*" != *broken* ]] ;;
    *) echo "tested $*"
       [[ "$*" != *busy* ]] || echo a.py::test_b >"$noted/lastfailed"
       [[ "$*" != *broken* ]] || echo broken.py::test_b >"$noted/lastfailed"
       [[ "$*" != *broken* && "$*" != *busy* && "$*" != *crashed* ]] ;;
  esac
}
layer good present
[[ "$LANES" != *bad:* ]] || layer bad absent
for lane in $LANES; do lane_in ${lane/:/ } "a b"; done
eval "$(sed -n '/^while read/,$p' "$RUN")"
"""


def ci(tmp_path, lanes, flaky="", night=""):
    (tmp_path / "flaky").write_text(flaky)
    (tmp_path / "run").mkdir()
    done = subprocess.run(
        ["bash", "-c", PROGRAM],
        cwd=tmp_path / "run",
        env={
            **{"PATH": "/usr/bin:/bin", "RUN": RUN, "LANES": lanes, "FLAKY": tmp_path / "flaky"},
            "night": night,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    _, _, end = done.stdout.partition("\nfailed:\n")
    return done.returncode, done.stdout + done.stderr, end.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
class TestFails:
    def test_without_the_packages_of_a_lane(self, tmp_path):
        status, said, failed = ci(tmp_path, "good:tests/a.py bad:tests/b.py")
        assert status == 1, said
        assert "good tests/a.py" in said
        assert failed == ["layer bad: absent", "for want of its layer: bad tests/b.py a b"]

    def test_what_fails_twice(self, tmp_path):
        status, said, failed = ci(tmp_path, "good:broken good:tests/a.py")
        assert status == 1
        assert "again" not in said.partition("tests/a.py")[0]
        assert [line.split()[:2] for line in failed] == [["again", "good"]]

    def test_what_was_flaky_before(self, tmp_path):
        status, said, _ = ci(tmp_path, "good:busy", flaky="a.py::test_b\n")
        assert status == 1
        assert "flaky again: a.py::test_b" in said


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(("lane", "named"), [("busy", "a.py::test_b"), ("crashed", "a whole lane")])
def test_what_passes_alone_is_named(tmp_path, lane, named):
    status, said, _ = ci(tmp_path, f"good:{lane}")
    assert status == 0, said
    assert f"== flaky: 1\n{named}\n" in said


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
@pytest.mark.parametrize(("night", "expected"), [("nightly", 0), ("", 1)])
def test_a_lane_without_tests_fails_by_day(tmp_path, night, expected):
    status, said, _ = ci(tmp_path, "good:empty", night=night)
    assert status == expected, said
