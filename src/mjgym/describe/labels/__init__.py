"""Names, units, frames and sources of an observation's numbers, found by observing labels.

The unchanged hook `observation` runs on arrays that hold a `Label` in place of each number. What
it does with the numbers it does with the labels: a difference of two places is a place seen from
the other, its product with a rotation turns it into a frame, `tanh` of metres is in tanh(m). Where
a hook does what labels do not follow, names are those of the places, and `Task.labels` states what
is missing.
"""

from mjgym.describe.labels.entries import signals, unnamed
from mjgym.describe.labels.label import Label
from mjgym.describe.labels.label_view import LabelView

__all__ = ["Label", "LabelView", "signals", "unnamed"]
