"""Names, units, frames and sources of an observation's numbers, derived by observing labels.

The hook `observation` runs unchanged on arrays with a `Label` in place of each number. Arithmetic
on numbers becomes arithmetic on labels: a difference of two positions is a relative position, its
product with a rotation turns it into a frame, `tanh` of metres is in tanh(m). Where labels cannot
follow a hook, numbers are named by their index, and `Task.labels` states the rest.
"""

from mjgym.describe.labels.entries import signals, unnamed
from mjgym.describe.labels.label import Label
from mjgym.describe.labels.label_view import LabelView

__all__ = ["Label", "LabelView", "signals", "unnamed"]
