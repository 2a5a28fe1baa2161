"""`.ci/run`: a lane whose packages cannot be installed fails the run."""

import subprocess
import sys

import pytest

from helpers.places import ROOT

RUN = ROOT / ".ci" / "run"
# Its own functions and its end; environments and installing are replaced.
PROGRAM = r"""
set -euo pipefail
work=$PWD; touch failed
for name in lane layer lane_in; do eval "$(sed -n "/^$name() {/,/^}/p" "$RUN")"; done
python3() { mkdir -p "$3/bin"; touch "$3/bin/activate"; }
python() { if [ "$1" = -c ]; then echo "$PWD"; else echo "tested $*"; fi; }
install() { [ "$1" != absent ]; }
layer good present
layer bad absent
lane_in good tests/a.py
lane_in bad tests/b.py
eval "$(sed -n '/^if \[ -s "\$work\/failed" \]/,$p' "$RUN")"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_a_lane_without_its_packages_fails_the_run(tmp_path):
    done = subprocess.run(
        ["bash", "-c", PROGRAM],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "RUN": str(RUN)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "tested -m pytest tests/a.py" in done.stdout
    assert "tests/b.py" not in done.stdout.partition("failed:")[0]
    assert done.stdout.partition("failed:")[2].split("\n")[1:3] == [
        "layer bad: absent",
        "for want of its layer: bad tests/b.py",
    ]
