"""Machine code of recorded hooks, by LLVM."""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from mjgym_fast.object_cache import object_of
from mjgym_fast.symbols import flat
from mjgym_fast.trace import FLOAT, TRUTH, Symbol, Trace, text_of

LONG = 2_000  # lines
PIECE = 500  # lines of a basic block
BITS = "%bits"
BETWEEN = ("control", "substep")  # functions between physics steps
ARGUMENTS = "ptr %fields, ptr %memory, ptr %action, ptr %results, ptr %shown, ptr %work"
FAILED, BAD_REWARD, NOT_FINITE, DIVERGED, TRUE = 1, 2, 4, 8, 16
"""Bits of what a function returns: a system was singular, a result is not finite, forces are due or
the state changes."""
NO_STATE = FAILED | BAD_REWARD | DIVERGED
WRONG = NO_STATE | NOT_FINITE


def _add_needed(order: dict[Symbol, None], values: Iterable[Any]) -> None:
    """Add all symbols that some values depend on, each right before the first that needs it.

    So few numbers are alive at once, which saves LLVM most of its time.
    """
    left = [*values][::-1]
    while left:
        value = left[-1]
        if not isinstance(value, Symbol) or value in order:
            left.pop()
        elif missing := [x for x in value.needs if x not in order and isinstance(x, Symbol)]:
            left += reversed(missing)
        else:
            order[value] = None


class Result(NamedTuple):
    """Numbers that a hook writes, one after another.

    Attributes:
        array: where they are: an argument of the function, FIELD and the name of a field, or BITS.
        offset: of the first one, in bytes, or the bit that the function returns if it is true.
        numbers: an array of symbols and constants, or of numbers.
        dtype: dtype in which they are written.
    """

    hook: str
    array: str
    offset: int
    numbers: Any
    dtype: np.dtype[Any] = FLOAT


class Function:
    """The text of a function that writes results into memory.

    Args:
        trace: the trace that these belong to.

    Attributes:
        text: the function.
        work: size of the scratch space, in numbers.
        size: number of lines.
    """

    def __init__(self, name: str, results: Sequence[Result], trace: Trace) -> None:
        written = [(x, flat(x.numbers)) for x in results]
        order: dict[Symbol, None] = {}
        _add_needed(order, itertools.chain(*(numbers for _, numbers in written)))
        bits = [(FAILED, failed) for call, failed in trace.checks if call in order]
        bits += [(x.offset, numbers[0]) for x, numbers in written if x.array == BITS]
        total: Any = 0
        for bit, condition in bits:
            choice = f"select i1 {text_of(condition, TRUTH)}, i64 {bit}, i64 0"
            holds = trace.add(choice, condition)
            total = trace.add(f"or i64 {total}, {holds}", total, holds)
        _add_needed(order, [total])
        for x, numbers in written:
            if x.array != BITS:
                _add_needed(order, trace.stores(x.array, x.offset, numbers, x.dtype))
        self.size, self.work = len(order), trace.work
        lines = ["%here = ptrtoint ptr %work to i64"]
        for i, symbol in enumerate(order, 1):
            lines.append(symbol.line)
            if i % PIECE == 0:
                # Another basic block: LLVM's time grows faster than the length of one. A branch
                # that is never taken keeps LLVM from joining them again. It is a switch, which has
                # LLVM write a block without optimization in a third less code than a branch would.
                lines += f"switch i64 %here, label %part{i} [i64 -1, label %out]", f"part{i}:"
        lines += f"ret i64 {total}", "out:", "ret i64 0"
        arrays = [f"{name} = {text}\n" for text, name in trace.constants.items()]
        arrays += [f"{name} = external global i8\n" for name in trace.outside.names.values()]
        text = "\n  ".join((f"define i64 @{name}({ARGUMENTS}) {{", *lines))
        self.text = f"{''.join(arrays)}{text}\n}}\n"


@functools.cache
def _processor(optimized: bool) -> Any:
    """A description of this machine's processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=int(optimized),  # more takes longer, and the code is as fast
        jit=True,
    )


@functools.cache
def _linker() -> Any:
    """A linker, which places compiled functions in memory."""
    return llvm.create_lljit_compiler(_processor(True))


class Code:
    """Compiled functions; they live as long as this object.

    Args:
        functions: hooks by name; long ones are compiled without optimization, which takes a
            quarter of the time: their code is larger by a quarter, but as fast.
        loop: LLVM's text of the functions that call them.
        names: names of the functions that are looked up.
        external: addresses of what they refer to elsewhere, by name.

    Attributes:
        addresses: of these functions, by name.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        loop: str,
        names: Sequence[str],
        external: Mapping[str, int],
    ) -> None:
        builder = llvm.JITLibraryBuilder()
        builder.add_object_img(_object(loop, True))
        for name, address in external.items():
            builder.import_symbol(name, address)
        for function in functions.values():
            builder.add_object_img(_object(function.text, function.size <= LONG))
        for name in names:
            builder.export_symbol(name)
        self._library = builder.link(_linker(), f"hooks{next(_numbers)}")
        self.addresses: dict[str, int] = {name: self._library[name] for name in names}


def _object(text: str, optimized: bool) -> bytes:
    """Compile LLVM text to object code; addresses of libraries and tables stay symbolic."""
    processor = _processor(optimized)
    version = llvm.llvm_version_info, llvmlite.__version__
    features = llvm.get_host_cpu_features().flatten()
    settings = f"{version} {processor.triple} {llvm.get_host_cpu_name()} {features} {optimized}"

    def compile() -> bytes:
        code: bytes = processor.emit_object(llvm.parse_assembly(text))
        return code

    return object_of(text, settings, compile)


_numbers = itertools.count()
