"""Compiled control laws of arms for one simulation: the arithmetic of the controllers.

Sums follow NumPy's order and matrix products call NumPy's BLAS, so results equal those of
`OperationalSpacePose.torque`, `JointVelocity.torque`, ... to the bit, as tests check. See there for
the meaning of each number; `mjgym_fast.packed_arms` packs them.
"""

import math

import numpy as np
from numba import carray

from mjgym_fast.foreign import (
    GEMM,
    GEMV,
    SOLVE,
    call,
    compiled,
    floats_at,
    inlined,
    integers_at,
    law_function,
)
from mjgym_fast.stepping import LAW_FIELDS

CTRL, QPOS, QVEL, BIAS, SITE_XPOS, SITE_XMAT, SUBTREE_COM, CDOF, CVEL, INERTIA, _, _ = range(
    len(LAW_FIELDS)
)
# Integers of the arms: per arm a head, then its indices.
OPERATIONAL_SPACE, JOINT_POSITION, JOINT_VELOCITY, JOINT_TORQUE = range(4)
(
    KIND,
    JOINTS,
    TOOL_SITE,
    TOOL_BODY,
    TOOL_ROOT,
    ORIGIN_SITE,
    ORIGIN_BODY,
    ORIGIN_ROOT,
    ORIGIN_MOVES,
    ALONE,
    UNCOUPLED,
    COMPENSATED,
    IN_WORLD,
    RAMPS,
    GOAL,  # start of each memory entry; -1 if absent
    ROTATION,
    START,
    KP,
    KD,
    GOAL_FROM,
    SINCE,
    ERROR,
    ERROR_SUM,
    ERROR_DIFFERENCES,
    NUMBERS,  # start of the arm's numbers
    HEAD,
) = range(26)
# After the head, per joint: indices in qpos, qvel and ctrl, and whether it moves the tool; then (n,
# n) indices in M, -1 where it is 0. The arm's numbers: ramp steps, kp and kd (n or 6 each), lower
# and upper torque limits (n each).
WORK = 2048
FIRST_ROW_MAJOR, FIRST_COLUMN_MAJOR = 101, 102  # CBLAS
PLAIN, TRANSPOSED = 111, 112
POSTURE_GAIN = 10.0
POSTURE_DAMPING = 2 * math.sqrt(POSTURE_GAIN)
RIDGE = 1e-16
INTEGRAL, DERIVATIVE, DIFFERENCES = 0.005, 0.001, 5


@inlined
def _at(field, place):
    return carray(floats_at(field + 8 * place), 1)[0]


@inlined
def _row(field, place, width):
    return carray(floats_at(field + 8 * width * place), width)


@inlined
def _times(blas, a, rows, columns, transposed, x, y):
    """y = A x for A (rows, columns) in C order, or its transpose."""
    order, stride = FIRST_COLUMN_MAJOR, columns
    if transposed:
        order, stride = FIRST_ROW_MAJOR, rows
    call(
        blas[GEMV],
        (
            np.int32(order), np.int32(TRANSPOSED), columns, rows, 1.0, a.ctypes.data, stride,
            x.ctypes.data, 1, 0.0, y.ctypes.data, 1,
        ),
    )  # fmt: skip


@inlined
def _product(blas, a, b, m, k, n, transposed, c):
    """C = A B, (m, k) and (k, n) in C order, optionally with B transposed."""
    how, stride = PLAIN, n
    if transposed:
        how, stride = TRANSPOSED, k
    call(
        blas[GEMM],
        (
            np.int32(FIRST_ROW_MAJOR), np.int32(PLAIN), np.int32(how), m, n, k, 1.0,
            a.ctypes.data, k, b.ctypes.data, stride, 0.0, c.ctypes.data, n,
        ),
    )  # fmt: skip


@inlined
def _solve(blas, a, n, b, columns, scratch, info):
    """Overwrite b, (columns, n), with the solutions of A x = b; destroys A."""
    info[0], info[1], info[2] = n, columns, n
    size = 8
    call(
        blas[SOLVE],
        (
            info.ctypes.data, info.ctypes.data + size, a.ctypes.data, info.ctypes.data,
            scratch.ctypes.data, b.ctypes.data, info.ctypes.data, info.ctypes.data + 3 * size,
        ),
    )  # fmt: skip
    if info[3] > 0:
        b[:] = np.nan


@inlined
def _limited(torque, low, high, n):
    for i in range(n):
        # NaN passes through, as in NumPy's minimum and maximum.
        least = low[i] if torque[i] < low[i] else torque[i]
        torque[i] = high[i] if least > high[i] else least


@inlined
def _velocity(cvel, offset, out):
    """Velocity of a point of a body, see `mjgym.sim.dynamics.point_velocity`."""
    a, b = cvel, offset
    out[0] = cvel[3] + (a[1] * b[2] - a[2] * b[1])
    out[1] = cvel[4] + (a[2] * b[0] - a[0] * b[2])
    out[2] = cvel[5] + (a[0] * b[1] - a[1] * b[0])
    out[3], out[4], out[5] = cvel[0], cvel[1], cvel[2]


@inlined
def _offset(site, com, out):
    for i in range(3):
        out[i] = site[i] - com[i]


@inlined
def _fraction(since, steps):
    return 1 / max(steps - since, 1.0)


@inlined
def _goal(integers, numbers, memory, width, ahead, out):
    """Goal of this physics step, or `ahead` steps later."""
    at = integers[GOAL]
    for i in range(width):
        out[i] = memory[at + i]
    if integers[RAMPS]:
        share = _fraction(memory[integers[SINCE]] + ahead, numbers[0])
        start = integers[GOAL_FROM]
        for i in range(width):
            out[i] = memory[start + i] + (out[i] - memory[start + i]) * share


@inlined
def _inertia(integers, n, field, out):
    places = integers[HEAD + 4 * n :]
    for i in range(n * n):
        out[i] = _at(field, places[i]) if places[i] >= 0 else 0.0


@compiled
def _jacobian(integers, fields, offset, jacobian):
    """Tool Jacobian by joints, (6, n), see `mjgym.sim.dynamics.point_jacobian`."""
    n = integers[JOINTS]
    qvel_at, moves = integers[HEAD + n :], integers[HEAD + 3 * n :]
    for j in range(n):
        dof = _row(fields[CDOF], qvel_at[j], 6)
        column = jacobian[j:]
        if moves[j]:
            column[0 * n] = dof[3] + (dof[1] * offset[2] - dof[2] * offset[1])
            column[1 * n] = dof[4] + (dof[2] * offset[0] - dof[0] * offset[2])
            column[2 * n] = dof[5] + (dof[0] * offset[1] - dof[1] * offset[0])
            column[3 * n], column[4 * n], column[5 * n] = dof[0], dof[1], dof[2]
        else:
            for i in range(6):
                column[i * n] = 0.0


@compiled
def _relative(integers, fields, position, wanted, velocity, work, blas):
    """Move a goal and a velocity into the frame of a moving origin."""
    origin_velocity, offset, part = work[412:418], work[438:441], work[480:490]
    origin = _row(fields[SITE_XPOS], integers[ORIGIN_SITE], 3)
    _offset(origin, _row(fields[SUBTREE_COM], integers[ORIGIN_ROOT], 3), offset)
    _velocity(_row(fields[CVEL], integers[ORIGIN_BODY], 6), offset, origin_velocity)
    for i in range(6):
        velocity[i] = velocity[i] - origin_velocity[i]
    if not integers[IN_WORLD]:
        frame = _row(fields[SITE_XMAT], integers[ORIGIN_SITE], 9)
        for i in range(3):
            part[i] = (origin[i] + 0.0) + (
                frame[3 * i] * position[0]
                + frame[3 * i + 1] * position[1]
                + frame[3 * i + 2] * position[2]
            )
        position[:] = part[:3]
        part[:9] = wanted
        _product(blas, frame, part, 3, 3, 3, False, wanted)


@compiled
def _mobility(integers, inertia, jacobian, work, blas, whole):
    """Inverse of the tool inertia, see `mjgym.controllers.linear_algebra.mobility`."""
    n = integers[JOINTS]
    turned, solved = work[64:128], work[192:256]
    pivots, info = _scratch(work)
    # LAPACK is column-major: a symmetric matrix is its own transpose, and the Jacobian's rows are
    # the right-hand sides.
    for i in range(n * n):
        whole[i] = inertia[i]
    for i in range(6 * n):
        turned[i] = jacobian[i]
    _solve(blas, whole, n, turned, 6, pivots, info)
    for i in range(6):
        for j in range(n):
            solved[j * 6 + i] = turned[i * n + j]
    _product(blas, jacobian, solved, 6, n, 6, False, whole)
    trace = whole[0]
    for i in range(1, 6):
        trace = trace + whole[7 * i]
    for i in range(6):
        for j in range(6):
            whole[6 * i + j] = whole[6 * i + j] + trace * (RIDGE if i == j else 0.0)


@inlined
def _scratch(work):
    return work[502:520].view(np.int64), work[520:524].view(np.int64)


@compiled
def _forces(integers, whole, acceleration, felt, work, blas):
    """Replace the acceleration by the forces at the tool."""
    system = work[320:356]
    pivots, info = _scratch(work)
    if not integers[UNCOUPLED]:
        for i in range(6):
            acceleration[i] = acceleration[i] - felt[i]
            for j in range(6):
                system[6 * j + i] = whole[6 * i + j]
        _solve(blas, system, 6, acceleration, 1, pivots, info)
        return
    for i in range(6):
        for j in range(6):
            same = 1.0 if (i < 3) == (j < 3) else 0.0
            system[6 * j + i] = whole[6 * i + j] * same
    _solve(blas, system, 6, acceleration, 1, pivots, info)
    for i in range(6):
        for j in range(6):
            system[6 * j + i] = whole[6 * i + j]
    _solve(blas, system, 6, felt, 1, pivots, info)
    for i in range(6):
        acceleration[i] = acceleration[i] - felt[i]


@compiled
def _operational_space(integers, numbers, fields, memory, work, blas, out):
    """`OperationalSpacePose.torque`."""
    n = integers[JOINTS]
    qpos_at, qvel_at = integers[HEAD:], integers[HEAD + n :]
    # Slices of the working memory, one per matrix or vector.
    jacobian, inertia, whole = work[0:48], work[128:192], work[256:320]
    error, velocity, acceleration = work[400:406], work[406:412], work[420:426]
    offset, between, posture, felt = work[438:441], work[441:450], work[450:460], work[460:466]
    qvel, part, wanted, position = work[470:480], work[480:490], work[490:499], work[499:502]

    tool = _row(fields[SITE_XPOS], integers[TOOL_SITE], 3)
    _offset(tool, _row(fields[SUBTREE_COM], integers[TOOL_ROOT], 3), offset)
    _jacobian(integers, fields, offset, jacobian)
    start = integers[START]
    for j in range(n):
        qvel[j] = _at(fields[QVEL], qvel_at[j]) + 0.0
        qpos = _at(fields[QPOS], qpos_at[j]) + 0.0
        posture[j] = POSTURE_GAIN * (memory[start + j] - qpos) - POSTURE_DAMPING * qvel[j]
    if integers[ALONE]:
        _times(blas, jacobian, 6, n, False, qvel, velocity)
    else:
        _velocity(_row(fields[CVEL], integers[TOOL_BODY], 6), offset, velocity)

    _goal(integers, numbers, memory, 3, 0.0, position)
    turn = integers[ROTATION]
    for i in range(9):
        wanted[i] = memory[turn + i]
    if integers[ORIGIN_MOVES]:
        _relative(integers, fields, position, wanted, velocity, work, blas)
    for i in range(3):
        error[i] = position[i] - (tool[i] + 0.0)
    rotation = _row(fields[SITE_XMAT], integers[TOOL_SITE], 9)
    _product(blas, wanted, rotation, 3, 3, 3, True, between)
    error[3] = (between[7] - between[5]) / 2
    error[4] = (between[2] - between[6]) / 2
    error[5] = (between[3] - between[1]) / 2
    kp, kd = numbers[1:7], numbers[7:13]
    if integers[KP] >= 0:
        kp, kd = memory[integers[KP] : integers[KP] + 6], memory[integers[KD] : integers[KD] + 6]
    for i in range(6):
        acceleration[i] = kp[i] * error[i] - kd[i] * velocity[i]

    _times(blas, jacobian, 6, n, False, posture, felt)
    _inertia(integers, n, fields[INERTIA], inertia)
    _mobility(integers, inertia, jacobian, work, blas, whole)
    _forces(integers, whole, acceleration, felt, work, blas)
    _times(blas, jacobian, n, 6, True, acceleration, out)
    _times(blas, inertia, n, n, False, posture, part)
    for j in range(n):
        out[j] = (out[j] + part[j]) + (_at(fields[BIAS], qvel_at[j]) + 0.0)


@compiled
def _joint_position(integers, numbers, fields, memory, work, blas, out):
    n = integers[JOINTS]
    goal, inertia, asked = work[0:n], work[64 : 64 + n * n], work[400 : 400 + n]
    _goal(integers, numbers, memory, n, 0.0, goal)
    kp, kd = numbers[1 : 1 + n], numbers[1 + n : 1 + 2 * n]
    if integers[KP] >= 0:
        kp = memory[integers[KP] : integers[KP] + n]
        kd = memory[integers[KD] : integers[KD] + n]
    for j in range(n):
        qpos = _at(fields[QPOS], integers[HEAD + j]) + 0.0
        qvel = _at(fields[QVEL], integers[HEAD + n + j]) + 0.0
        asked[j] = kp[j] * (goal[j] - qpos) - kd[j] * qvel
    if not integers[COMPENSATED]:
        for j in range(n):
            out[j] = asked[j]
        return
    _inertia(integers, n, fields[INERTIA], inertia)
    _times(blas, inertia, n, n, False, asked, out)
    for j in range(n):
        bias = _at(fields[BIAS], integers[HEAD + n + j]) + 0.0
        out[j] = out[j] + bias


@compiled
def _joint_velocity(integers, numbers, fields, memory, ahead, goal, out):
    n = integers[JOINTS]
    _goal(integers, numbers, memory, n, ahead, goal)
    sums, differences = integers[ERROR_SUM], integers[ERROR_DIFFERENCES]
    for j in range(n):
        qvel = _at(fields[QVEL], integers[HEAD + n + j]) + 0.0
        derivative = memory[differences + j]
        for i in range(1, DIFFERENCES):
            derivative = derivative + memory[differences + i * n + j]
        out[j] = numbers[1 + j] * (
            (goal[j] - qvel) + INTEGRAL * memory[sums + j] + DERIVATIVE * (derivative / DIFFERENCES)
        )
        if integers[COMPENSATED]:
            bias = _at(fields[BIAS], integers[HEAD + n + j]) + 0.0
            out[j] = out[j] + bias


@compiled
def _note_errors(integers, numbers, fields, memory, work, low, high):
    """`JointVelocity.substep`."""
    n = integers[JOINTS]
    goal, unlimited = work[0:n], work[64 : 64 + n]
    _joint_velocity(integers, numbers, fields, memory, 1.0, goal, unlimited)
    at_limit = False
    for j in range(n):
        at_limit = at_limit or unlimited[j] < low[j] or unlimited[j] > high[j]
    errors, sums = integers[ERROR], integers[ERROR_SUM]
    differences = integers[ERROR_DIFFERENCES]
    for j in range(n):
        qvel = _at(fields[QVEL], integers[HEAD + n + j]) + 0.0
        error = goal[j] - qvel
        for i in range(DIFFERENCES - 1):
            memory[differences + i * n + j] = memory[differences + (i + 1) * n + j]
        memory[differences + (DIFFERENCES - 1) * n + j] = error - memory[errors + j]
        memory[sums + j] = memory[sums + j] + (0.0 if at_limit else error)
        memory[errors + j] = error


@compiled
def _joint_torque(integers, numbers, fields, memory, out):
    n = integers[JOINTS]
    _goal(integers, numbers, memory, n, 0.0, out)
    if integers[COMPENSATED]:
        for j in range(n):
            bias = _at(fields[BIAS], integers[HEAD + n + j]) + 0.0
            out[j] = out[j] + bias


@law_function
def law(phase, fields_at, numbers_at, integers_at_, memory_at, work_at, blas_at):
    """Law of all arms of a simulation, see `mjgym_fast.stepping.Law`."""
    fields, blas = carray(integers_at(fields_at), len(LAW_FIELDS)), carray(integers_at(blas_at), 3)
    everything = carray(integers_at(integers_at_), 1 << 20)
    memory, work = carray(floats_at(memory_at), 1 << 20), carray(floats_at(work_at), WORK)
    all_numbers = carray(floats_at(numbers_at), 1 << 20)
    count, at = everything[0], 1
    for _ in range(count):
        integers = everything[at:]
        numbers = all_numbers[integers[NUMBERS] :]
        n, kind = integers[JOINTS], integers[KIND]
        gains = 6 if kind == OPERATIONAL_SPACE else n
        low = numbers[1 + 2 * gains : 1 + 2 * gains + n]
        high = numbers[1 + 2 * gains + n : 1 + 2 * gains + 2 * n]
        if phase == 0:
            torque = work[1024 : 1024 + n]
            if kind == OPERATIONAL_SPACE:
                _operational_space(integers, numbers, fields, memory, work, blas, torque)
            elif kind == JOINT_POSITION:
                _joint_position(integers, numbers, fields, memory, work, blas, torque)
            elif kind == JOINT_VELOCITY:
                _joint_velocity(integers, numbers, fields, memory, 0.0, work, torque)
            else:
                _joint_torque(integers, numbers, fields, memory, torque)
            _limited(torque, low, high, n)
            for j in range(n):
                _row(fields[CTRL], integers[HEAD + 2 * n + j], 1)[0] = torque[j]
        else:
            if kind == JOINT_VELOCITY:
                _note_errors(integers, numbers, fields, memory, work, low, high)
            if integers[RAMPS]:
                memory[integers[SINCE]] = memory[integers[SINCE]] + 1
        at += HEAD + 4 * n + n * n
    return 1
