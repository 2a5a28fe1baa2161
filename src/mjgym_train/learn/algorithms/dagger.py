"""DAgger (Ross et al., 2011): cloning of a script where the learner leads.

    minimise |a*(h) - tanh(f(s))| over the states of the learner's own episodes

a* is the action that the task's scripted policy would take there; h, all that it has seen in the
episode, is more than the learner's history s.
"""

from typing import ClassVar

from mjgym_train.config import CloningSettings, DAggerConfig
from mjgym_train.learn.algorithms.bc import BC


class DAgger(BC):
    """The agent of DAgger, which the module describes."""

    Config: ClassVar[type[CloningSettings]] = DAggerConfig
