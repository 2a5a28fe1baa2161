"""Answers of a peer's process to `subjects.in_process`, in any interpreter; import it first.

Each line of the input is answered: "reset" with "reset" after the reset, a number with "going"
after as many steps, or with "ended" if the last of them ended an episode. An episode that ends
before is followed by the next one.
"""

import os
import sys

# Output of the peer's library is not an answer.
_answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def serve(step, reset=None) -> None:  # type: ignore[no-untyped-def]
    """Say "built", then answer until the input ends.

    Args:
        step: makes a step; returns whether it ended the episode, or None.
        reset: begins an episode; None for a peer without.
    """
    _answers.write("built\n")
    for line in sys.stdin:
        ended = False
        if line.strip() == "reset":
            reset()
            _answers.write("reset\n")
            continue
        for _ in range(int(line)):
            if ended:
                reset()
            ended = step()
        _answers.write("ended\n" if ended else "going\n")
