"""Programs in small processes, which can fork: one that holds many batches may not."""

import subprocess
import sys


def run_small(program: str) -> str:
    """Standard output of a program, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
