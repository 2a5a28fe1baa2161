"""LLVM's text of the function that makes a control step in one simulation after another.

Its arguments are in a table of whole numbers and addresses, the context, by the names in `SLOTS`.
"""

from collections.abc import Collection
from dataclasses import dataclass

import mujoco

from mjgym.sim.engine import DIVERGED as DIVERGENCES
from mjgym.sim.single import UNLOGGED
from mjgym_fast.library import engine
from mjgym_fast.machine_code import ARGUMENTS, DIVERGED, FAILED, TRUE

SLOTS = {
    name: i
    for i, name in enumerate(
        (
            *("next", "chunk", "rows", "count", "stepping"),  # parts of the work
            *("substeps", "n", "single"),  # physics steps; simulations; whether actions are float32
            *("models", "own", "datas", "warnings", "fields", "arrays", "width"),
            *("memory", "memories", "action", "actions", "results", "shown", "shows"),
            *("work", "works", "bad"),
            *("state", "known", "states", "begun"),  # of a batch; no bytes: stepped in place
            *("outputs", "sources", "targets", "sizes"),
            *("varied", "values", "settings", "widths"),
        )
    )
}
"""Places in the context."""
_BEFORE = ("before", "before_single")
_INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_STRIDE = 2  # int32 of a warning: its last info, and its count
ON_ARRAYS = ARGUMENTS.replace("%fields", "%array")


def _slots(*names: str, kind: str = "i64", suffix: str = "") -> str:
    """Load entries of the context."""
    return "".join(
        f"  %{name}{suffix}p = getelementptr i64, ptr %ctx, i64 {SLOTS[name]}\n"
        f"  %{name}{suffix} = load {kind}, ptr %{name}{suffix}p\n"
        for name in names
    )


def _row(result: str, base: str, bytes: str, i: str = "%i") -> str:
    """The address of a row of an array, by the bytes of each."""
    return (
        f"  %{result}o = mul i64 {i}, %{bytes}\n"
        f"  %{result} = getelementptr i8, ptr %{base}, i64 %{result}o\n"
    )


def _entry(result: str, table: str, place: str) -> str:
    """An entry of a table of addresses."""
    return (
        f"  %{result}p = getelementptr ptr, ptr %{table}, i64 {place}\n"
        f"  %{result} = load ptr, ptr %{result}p\n"
    )


def _engine(name: str, *arguments: str) -> str:
    known = engine()
    assert known is not None
    listed = ", ".join(("ptr %model", "ptr %data", *arguments))
    return f"  call void inttoptr (i64 {known[name]} to ptr)({listed})\n"


class _Body:
    """Basic blocks, whose hooks add their bits to a variable.

    Args:
        hooks: names of the compiled functions.
        on_arrays: those that read the batch's arrays instead of an MjData.
    """

    def __init__(self, hooks: Collection[str] = (), on_arrays: Collection[str] = ()) -> None:
        self.text, self._hooks, self._on_arrays, self._count = "", hooks, on_arrays, 0

    def label(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def hook(self, name: str) -> None:
        """Call a hook's function, if it is compiled."""
        if name not in self._hooks:
            return
        x = self.label("bits")
        arguments = ON_ARRAYS if name in self._on_arrays else ARGUMENTS
        self.text += (
            f"  %{x}n = call i64 @{name}({arguments})\n"
            f"  %{x}o = load i64, ptr %bits\n"
            f"  %{x}s = or i64 %{x}n, %{x}o\n"
            f"  store i64 %{x}s, ptr %bits\n"
        )

    def before(self) -> None:
        """Call the hooks before the physics, with the action's dtype."""
        if "before_single" not in self._hooks:
            self.hook("before")
            return
        self.text += (
            "  %is_single = icmp ne i64 %single, 0\n"
            "  br i1 %is_single, label %before32, label %before64\nbefore32:\n"
        )
        self.hook("before_single")
        self.text += "  br label %begun\nbefore64:\n"
        self.hook("before")
        self.text += "  br label %begun\nbegun:\n"

    def when(self, condition: str, then: str) -> None:
        """Text that runs only under a condition."""
        x = self.label("when")
        self.text += (
            f"  br i1 {condition}, label %{x}, label %{x}e\n{x}:\n{then}  br label %{x}e\n{x}e:\n"
        )

    def repeat(self, count: str, then: str) -> None:
        """Text, one block, that runs `count` times; $ begins its names, and %$k is its number."""
        x = self.label("loop")
        self.text += (
            f"  br label %{x}from\n{x}from:\n  br label %{x}test\n{x}test:\n"
            f"  %{x}k = phi i64 [0, %{x}from], [%{x}next, %{x}]\n"
            f"  %{x}more = icmp slt i64 %{x}k, {count}\n"
            f"  br i1 %{x}more, label %{x}, label %{x}e\n{x}:\n{then.replace('$', x)}"
            f"  %{x}next = add i64 %{x}k, 1\n  br label %{x}test\n{x}e:\n"
        )


def _copies(sizes: str, source: str, target: str) -> str:
    """Copy a simulation's rows of arrays; `source` and `target` compute %$of and %$to."""
    return (
        f"  %$a = getelementptr i64, ptr %{sizes}, i64 %$k\n  %$size = load i64, ptr %$a\n"
        f"  %$row = mul i64 %i, %$size\n{source}{target}"
        "  call void @llvm.memcpy.p0.p0.i64(ptr %$to, ptr %$of, i64 %$size, i1 false)\n"
    )


def _offset(result: str, base: str) -> str:
    return f"  %{result} = getelementptr i8, ptr %{base}, i64 %$row\n"


def _diverged() -> str:
    """True if the engine has counted a divergence, as %bad."""
    text, bad = "", "false"
    for kind in range(DIVERGENCES.start, DIVERGENCES.stop):
        w = f"%w{kind}"
        text += (
            f"  {w}p = getelementptr i32, ptr %warning, i64 {_STRIDE * kind}\n"
            f"  {w} = load i32, ptr {w}p\n"
            f"  {w}a = icmp ne i32 {w}, 0\n  {w}b = icmp ne i32 {w}, {UNLOGGED}\n"
            f"  {w}c = and i1 {w}a, {w}b\n  {w}d = or i1 {w}c, {bad}\n"
        )
        bad = f"{w}d"
    return text + f"  %bad_state = or i1 {bad}, false\n"


_FORGIVEN = "".join(
    f"  store i32 0, ptr %w{kind}p\n" for kind in range(DIVERGENCES.start, DIVERGENCES.stop)
)


@dataclass(frozen=True)
class Order:
    """The order of a control step's physics and hooks.

    Attributes:
        splits: whether physics steps have halves.
        lags: whether derived quantities lag, see `mjgym.Task.lagging`.
        parts: whether hooks run between physics steps.
        forces: whether forces are computed in every control step.
        shares: whether a batch has one MjData per thread instead of one per simulation: where
            nothing is kept from one control step to the next, it stays in the CPU cache.
    """

    splits: bool
    lags: bool
    parts: bool
    forces: bool
    shares: bool

    @property
    def begins_anew(self) -> bool:
        """True if what follows from a state that is loaded must be computed first."""
        return not self.lags and (self.splits or self.parts)


def _physics(body: _Body, hooks: Collection[str], order: Order) -> None:
    if order.lags:
        body.repeat("%substeps", _engine("mj_step"))
        body.text += _engine("mj_rnePostConstraint")
        return
    first = _engine("mj_step2" if order.splits else "mj_step")
    skip = _engine("mj_forwardSkip", f"i32 {_VELOCITIES}", "i32 0")
    if not order.parts:
        body.text += f"{first}  %others = sub i64 %substeps, 1\n"
        body.repeat("%others", _engine("mj_step"))
        body.text += _engine("mj_step1") + (skip if order.forces else "")
    else:
        body.text += (
            "  br label %part\npart:\n  %k = load i64, ptr %step\n"
            "  %more = icmp slt i64 %k, %substeps\n"
            f"  %failed = load i64, ptr %bits\n  %fails = and i64 %failed, {FAILED}\n"
            "  %fine = icmp eq i64 %fails, 0\n  %goes = and i1 %more, %fine\n"
            "  br i1 %goes, label %go, label %gone\ngo:\n"
        )
        body.hook("control")
        body.text += first + _engine("mj_step1")
        body.text += "  %k1 = add i64 %k, 1\n  store i64 %k1, ptr %step\n"
        if order.forces:
            body.text += "  %last = icmp eq i64 %k1, %substeps\n"
            body.when("%last", skip)
        body.hook("substep")
        body.text += "  br label %part\ngone:\n"
    if "forces" in hooks:
        body.text += f"  %due = call i64 @forces({ARGUMENTS})\n  %is_due = icmp ne i64 %due, 0\n"
        body.when("%is_due", skip)


def step_text(hooks: Collection[str], order: Order) -> str:
    """The text of `one` (a simulation) and `run` (parts of a batch, until none is left).

    Args:
        hooks: names of the compiled functions: before, control, substep, forces, after,
            observation.
    """
    body = _Body(hooks, ("after", "observation", *(_BEFORE if order.shares else ())))
    body.repeat(
        "%varied",
        _copies(
            "widths",
            _entry("$v", "values", "%$k") + _offset("$of", "$v"),
            "  %$j = mul i64 %worker, %varied\n  %$l = add i64 %$j, %$k\n"
            + _entry("$to", "settings", "%$l"),
        ),
    )
    body.text += "  %batched = icmp sgt i64 %states, 0\n"
    if order.shares:
        body.before()
        body.when("%batched", _load(order))
    else:
        body.when("%batched", "  call void @take_over(ptr %ctx, ptr %model, ptr %data, i64 %i)\n")
        body.before()
    body.text += (
        f"  %begun_bits = load i64, ptr %bits\n  %moved_bit = and i64 %begun_bits, {TRUE}\n"
        "  %moved = icmp ne i64 %moved_bit, 0\n"
    )
    body.when("%moved", _engine("mj_step1"))
    _physics(body, hooks, order)
    body.text += _diverged()
    back = "  call void @hand_back(ptr %ctx, ptr %model, ptr %data, i64 %i, i64 %own_data)\n"
    body.when("%batched", back + (_FORGIVEN if order.shares else ""))
    body.hook("after")
    body.text += "  %showing = icmp ne ptr %shown, null\n"
    body.text += "  br i1 %showing, label %show, label %judge\nshow:\n"
    body.hook("observation")
    body.text += (
        "  br label %judge\njudge:\n"
        f"  %warned = select i1 %bad_state, i64 {DIVERGED}, i64 0\n"
        "  %found = load i64, ptr %bits\n  %all = or i64 %warned, %found\n"
        "  store i64 %all, ptr %bits\n  br label %done\n"
    )
    observed = ""
    if "observation" in hooks:
        observed = f"  %seen = call i64 @observation({ON_ARRAYS})\n  store i64 %seen, ptr %bits\n"
    place = "%worker" if order.shares else "%i"
    numbers = (
        *("substeps", "n", "single", "width", "memories", "actions", "shows", "works"),
        *("states", "varied", "own"),
    )
    bases = ("fields", "arrays", "memory", "action", "results", "shown", "work")
    pointers = ("models", "datas", "warnings", "bad", "settings", "values", "widths", "state")
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{"" if order.shares else _take_over()}{_hand_back()}
define void @one(ptr %ctx, i64 %worker, i64 %i, i64 %steps) {{
entry:
  %bits = alloca i64
  store i64 0, ptr %bits
  %step = alloca i64
  store i64 0, ptr %step
{_slots(*numbers)}{_slots(*pointers, kind="ptr")}{_slots(*bases, kind="ptr", suffix="_all")}
  %own_data = add i64 {place}, 0
  %has_own = icmp ne i64 %own, 0
  %own_model = select i1 %has_own, i64 %i, i64 %worker
{_row("fields", "fields_all", "width", "%own_data")}{_row("array", "arrays_all", "width")}
{_row("memory", "memory_all", "memories")}{_row("action", "action_all", "actions")}
{_row("work", "work_all", "works", "%worker")}{_row("row", "shown_all", "shows")}
  %none = icmp eq ptr %shown_all, null
  %shown = select i1 %none, ptr null, ptr %row
  %results = getelementptr double, ptr %results_all, i64 %i
  %bad_bits = getelementptr i8, ptr %bad, i64 %i
  %stepped = icmp ne i64 %steps, 0
  br i1 %stepped, label %begin, label %only
only:
{observed}  br label %done
begin:
{_entry("model", "models", "%own_model")}{_entry("data", "datas", "%own_data")}
{_entry("warning", "warnings", "%own_data")}{body.text}
done:
  %result = load i64, ptr %bits
  %byte = trunc i64 %result to i8
  store i8 %byte, ptr %bad_bits
  ret void
}}
define void @run(ptr %ctx, i64 %worker) {{
entry:
{_slots("chunk", "count", "stepping")}{_slots("rows", kind="ptr")}
  %nextp = getelementptr i64, ptr %ctx, i64 {SLOTS["next"]}
  br label %take
take:
  %first = atomicrmw add ptr %nextp, i64 %chunk seq_cst
  %left = icmp slt i64 %first, %count
  br i1 %left, label %part, label %done
part:
  %whole = add i64 %first, %chunk
  %end = call i64 @llvm.smin.i64(i64 %whole, i64 %count)
  br label %each
each:
  %k = phi i64 [%first, %part], [%k1, %each]
  %ip = getelementptr i64, ptr %rows, i64 %k
  %i = load i64, ptr %ip
  %goes = icmp slt i64 %k, %stepping
  %steps = zext i1 %goes to i64
  call void @one(ptr %ctx, i64 %worker, i64 %i, i64 %steps)
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %end
  br i1 %more, label %each, label %take
done:
  ret void
}}
"""


def _load(order: Order) -> str:
    """Load a simulation's state from the batch."""
    text = _row("now", "state", "states") + _engine(
        "mj_setState", "ptr %now", f"i32 {_INTEGRATION}"
    )
    return text + (_engine("mj_step1") if order.begins_anew else "")


def _take_over() -> str:
    """Load a simulation's state from the batch, unless the last call left it there."""
    same, reset = _Body(), _Body()
    same.repeat(
        "%words",
        "  %$a = getelementptr i64, ptr %now, i64 %$k\n  %$b = load i64, ptr %$a\n"
        "  %$c = getelementptr i64, ptr %then, i64 %$k\n  %$d = load i64, ptr %$c\n"
        "  %$x = xor i64 %$b, %$d\n  %$f = load i64, ptr %changed\n"
        "  %$g = or i64 %$x, %$f\n  store i64 %$g, ptr %changed\n",
    )
    reset.when("%new", _engine("mj_resetData") + "  store i8 0, ptr %flag\n")
    return f"""
define internal void @take_over(ptr %ctx, ptr %model, ptr %data, i64 %i) {{
entry:
  %changed = alloca i64
  store i64 0, ptr %changed
{_slots("states")}{_slots("state", "known", "begun", kind="ptr")}{_row("now", "state", "states")}
{_row("then", "known", "states")}  %words = sdiv i64 %states, 8
  %flag = getelementptr i8, ptr %begun, i64 %i
  %flagged = load i8, ptr %flag
  %new = icmp ne i8 %flagged, 0
{same.text}  %differs = load i64, ptr %changed
  %moved = icmp ne i64 %differs, 0
  %loads = or i1 %moved, %new
  br i1 %loads, label %load, label %done
load:
{reset.text}{_engine("mj_setState", "ptr %now", f"i32 {_INTEGRATION}")}{_engine("mj_step1")}
  br label %done
done:
  ret void
}}
"""


def _hand_back() -> str:
    """Copy a simulation's state and outputs into the batch's arrays."""
    copies = _Body()
    copies.repeat(
        "%outputs",
        _copies(
            "sizes",
            "  %$j = mul i64 %own_data, %outputs\n  %$l = add i64 %$j, %$k\n"
            + _entry("$of", "sources", "%$l"),
            _entry("$t", "targets", "%$k") + _offset("$to", "$t"),
        ),
    )
    return f"""
define internal void @hand_back(ptr %ctx, ptr %model, ptr %data, i64 %i, i64 %own_data) {{
entry:
{_slots("states", "outputs")}{_slots("state", "known", "sources", "targets", "sizes", kind="ptr")}
{_row("now", "state", "states")}{_row("then", "known", "states")}
{_engine("mj_getState", "ptr %now", f"i32 {_INTEGRATION}")}
  call void @llvm.memcpy.p0.p0.i64(ptr %then, ptr %now, i64 %states, i1 false)
{copies.text}  ret void
}}
"""
