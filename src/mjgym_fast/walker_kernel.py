"""Compiled forces of a musculoskeletal walker for one simulation.

Between two physics steps they equal, up to the rounding of reordered sums, those of the task's
`Musculoskeletal.substep` for many simulations at once by `Thelen`, `Activation`, `Paths`,
`CoordinateLimits` and `SpheresOnPlane`, which explain each number.
"""

import math

from numba import carray

from mjgym.muscles.thelen import NEAR_LARGEST, TOE_FORCE, TOE_SHAPE
from mjgym_fast.foreign import (
    compiled,
    floats_at,
    inlined,
    integers_at,
    law_function,
)
from mjgym_fast.stepping import LAW_FIELDS

(QPOS, QVEL, BIAS, SUBTREE_COM, CDOF, CVEL, INERTIA, CTRL, XPOS, XMAT) = (
    LAW_FIELDS.index(name)
    for name in (
        *("qpos", "qvel", "qfrc_bias", "subtree_com", "cdof", "cvel", "M", "ctrl", "xpos", "xmat"),
    )
)
SIDES = 2

SIZES = (
    "joints", "free", "leg", "foot", "points", "still", "pieces", "muscles", "functions", "knots",
    "spheres", "substeps",
)  # fmt: skip
"""Counts: of joints, of free coordinates, of those of a leg and of those that move a foot, of the
ends of a leg's pieces of path and of those that do not move in their bodies, of pieces, muscles,
functions of a knee and their knots, of the spheres of a foot, of physics steps in a control step.
"""
(
    JOINTS, FREE, LEG, FOOT, POINTS, STILL, PIECES, MUSCLES, FUNCTIONS, KNOTS, SPHERES, SUBSTEPS,
) = range(len(SIZES))  # fmt: skip

INTEGERS = (
    "kept", "slides", "legs", "feet", "knees", "inertia", "point_bodies", "moves", "ends", "owner",
    "drifter", "condition", "inside", "foot_body",
)  # fmt: skip
"""Places of the free coordinates among the joints, of the slides (both along x, then both along y),
of each leg's and foot's coordinates and the knees among the free ones; of the matrix of inertia in
the engine's, -1 where it is 0; the body of each side's points; the functions by which points move
in their bodies, -1 for none, (points, 3); both ends of each piece, its muscle, the end that moves
in its body (1 or 2, 0 for none), the coordinate that it depends on, and whether it is there within
its range; the body of each foot.
"""
(
    KEPT,
    SLIDES,
    LEGS,
    FEET,
    KNEES,
    DENSE,
    BODIES,
    MOVES,
    ENDS,
    OWNER,
    DRIFTER,
    CONDITION,
    INSIDE,
    TALUS,
) = range(len(INTEGERS))

NUMBERS = (
    "constants", "knots", "origins", "table", "at", "low", "high", "always", "together", "sign",
    "rows", "force", "thickness2", "inverse_tendon", "toe", "exponent", "slope", "inverse_fibre",
    "rate", "scale", "fastest", "shortest", "limit_low", "limit_high", "centres", "radii",
)  # fmt: skip
"""`CONSTANTS`; the splines of the knees; places of points in their bodies, (sides, points, 3);
ranges within which pieces are there, constant lengths of the muscles and with pieces, signs and
drifts by coordinates; parameters of the muscles; limits of a leg; spheres, (sides, 3, spheres).
"""
(
    CONSTANTS_AT, KNOTS_AT, ORIGINS, TABLE, AT, LOW, HIGH, ALWAYS, TOGETHER, SIGN, ROWS, FORCE,
    THICKNESS2, INVERSE_TENDON, TOE, EXPONENT, SLOPE, INVERSE_FIBRE, RATE, SCALE, FASTEST, SHORTEST,
    LIMIT_LOW, LIMIT_HIGH, CENTRES, RADII,
) = range(len(NUMBERS))  # fmt: skip

CONSTANTS = (
    "timestep", "rise", "fall", "least", "width", "shape", "lengthening", "transition", "stiffness",
    "damping", "contact_stiffness", "dissipation", "friction", "slip", "light", "mended",
    "any_inertia", "kilo",
)  # fmt: skip
"""Single numbers, by the names of the laws' own parameters."""
(
    TIMESTEP, RISE, FALL, LEAST, WIDTH, SHAPE, LENGTHENING, TRANSITION, STIFFNESS, DAMPING,
    CONTACT_STIFFNESS, DISSIPATION, FRICTION, SLIP, LIGHT, MENDED, ANY_INERTIA, KILO,
) = range(len(CONSTANTS))  # fmt: skip

MOST_JOINTS, MOST_POINTS, MOST_PIECES, MOST_MUSCLES, MOST_FUNCTIONS = 24, 64, 64, 32, 8
"""For which there is room to compute in."""
_MATRIX = MOST_JOINTS * MOST_JOINTS
_SPATIAL = 6
# Offsets in the working memory.
_JOINT_INERTIA = 0
_TOTAL = _JOINT_INERTIA + _MATRIX
_DAMPING = _TOTAL + _MATRIX
_GAIN = _DAMPING + _MATRIX
_MOTION = _GAIN + SIDES * MOST_JOINTS
_KNEE = _MOTION + _SPATIAL * MOST_JOINTS
_POINT = _KNEE + SIDES * 4 * MOST_FUNCTIONS
_MOVING = _POINT + 3 * MOST_POINTS
_LINE = _MOVING + 3 * MOST_POINTS
_DRIFT = _LINE + _SPATIAL * MOST_PIECES
_THERE = _DRIFT + MOST_PIECES
_LENGTH = _THERE + MOST_PIECES
_ACTIVATION = _LENGTH + MOST_MUSCLES
_TENSION = _ACTIVATION + MOST_MUSCLES
_PULL = _TENSION + MOST_MUSCLES
_RIGHT = _PULL + _SPATIAL
_BIAS = _RIGHT + MOST_JOINTS
_WANTED = _BIAS + MOST_JOINTS
_DAMPED = _WANTED + MOST_JOINTS
_SPHERE = _DAMPED + _SPATIAL * _SPATIAL
_LEVER = _SPHERE + 3 * _SPATIAL
_FOOT = _LEVER + 3 * _SPATIAL
WORK = _FOOT + _SPATIAL * MOST_JOINTS


@inlined
def _places(integers, which):
    """Integers by index in `INTEGERS`."""
    return integers[integers[len(SIZES) + which] :]


@inlined
def _numbers(integers, numbers, which):
    """Numbers by index in `NUMBERS`."""
    return numbers[integers[len(SIZES) + len(INTEGERS) + which] :]


@inlined
def _field(fields, which, size):
    return carray(floats_at(fields[which]), size)


@compiled
def _splines(x, integers, numbers, out):
    """Values and first three derivatives of the functions of a knee's angle, (4, f)."""
    count, knots = integers[FUNCTIONS], _numbers(integers, numbers, KNOTS_AT)
    piece = 0
    while piece < integers[KNOTS] and x >= knots[piece]:
        piece += 1
    d = x - _numbers(integers, numbers, ORIGINS)[piece]
    rows = _numbers(integers, numbers, TABLE)[piece * 9 * count :]
    for f in range(count):
        out[f] = rows[f] + d * (
            rows[count + f] + d * (rows[2 * count + f] + d * rows[3 * count + f])
        )
        out[MOST_FUNCTIONS + f] = rows[4 * count + f] + d * (
            rows[5 * count + f] + d * rows[6 * count + f]
        )
        third = rows[8 * count + f]
        out[2 * MOST_FUNCTIONS + f] = rows[7 * count + f] + d * third
        out[3 * MOST_FUNCTIONS + f] = third


@compiled
def _points(side, integers, numbers, fields, com, knee, work):
    """Positions of a side's segment ends, and velocities of those that move in their bodies."""
    count, still = integers[POINTS], integers[STILL]
    bodies = _places(integers, BODIES)[side * count :]
    moves = _places(integers, MOVES)
    at = _numbers(integers, numbers, AT)[side * count * 3 :]
    point, moving = work[_POINT:], work[_MOVING:]
    for p in range(count):
        body = bodies[p]
        place = _field(fields, XPOS, 3 * body + 3)[3 * body :]
        axes = _field(fields, XMAT, 9 * body + 9)[9 * body :]
        x, y, z = at[3 * p], at[3 * p + 1], at[3 * p + 2]
        if p >= still:
            speed_x, speed_y, speed_z = 0.0, 0.0, 0.0
            own = moves[3 * (p - still) :]
            if own[0] >= 0:
                x += knee[own[0]]
                speed_x = knee[MOST_FUNCTIONS + own[0]]
            if own[1] >= 0:
                y += knee[own[1]]
                speed_y = knee[MOST_FUNCTIONS + own[1]]
            if own[2] >= 0:
                z += knee[own[2]]
                speed_z = knee[MOST_FUNCTIONS + own[2]]
            for i in range(3):
                moving[3 * p + i] = (
                    axes[3 * i] * speed_x + axes[3 * i + 1] * speed_y + axes[3 * i + 2] * speed_z
                )
        for i in range(3):
            point[3 * p + i] = (
                (place[i] - com[i]) + axes[3 * i] * x + axes[3 * i + 1] * y + axes[3 * i + 2] * z
            )


@compiled
def _paths(side, integers, numbers, coordinates, work):
    """Muscle lengths of a side, and the lines of their segments; see `Paths.geometry`."""
    pieces, muscles = integers[PIECES], integers[MUSCLES]
    point, moving = work[_POINT:], work[_MOVING:]
    ends, owner = _places(integers, ENDS), _places(integers, OWNER)
    drifter, condition = _places(integers, DRIFTER), _places(integers, CONDITION)
    inside = _places(integers, INSIDE)
    low, high = _numbers(integers, numbers, LOW), _numbers(integers, numbers, HIGH)
    always = _numbers(integers, numbers, ALWAYS)[side * muscles :]
    together = _numbers(integers, numbers, TOGETHER)[side * pieces :]
    line, drift, there = work[_LINE:], work[_DRIFT:], work[_THERE:]
    length = work[_LENGTH:]
    for m in range(muscles):
        length[m] = always[m]
    for s in range(pieces):
        value = coordinates[condition[s]]
        within = value >= low[s] and value <= high[s]
        if within != (inside[s] != 0):
            there[s] = 0.0
            continue
        there[s] = 1.0
        one, other = point[3 * ends[2 * s] :], point[3 * ends[2 * s + 1] :]
        x, y, z = other[0] - one[0], other[1] - one[1], other[2] - one[2]
        long = math.sqrt(x * x + y * y + z * z)
        x, y, z = x / long, y / long, z / long
        length[owner[s]] += long + together[s]
        own = line[_SPATIAL * s :]
        own[0] = one[1] * z - one[2] * y
        own[1] = one[2] * x - one[0] * z
        own[2] = one[0] * y - one[1] * x
        own[3], own[4], own[5] = x, y, z
        drift[s] = 0.0
        if drifter[s]:
            end = moving[3 * ends[2 * s + drifter[s] - 1] :]
            towards = x * end[0] + y * end[1] + z * end[2]
            drift[s] = towards if drifter[s] == 2 else -towards


@inlined
def _tendon(m, length, fibre, integers, numbers):
    """Tendon force, its derivative by the strain, and pennation; see `Thelen.stretched`."""
    thickness2 = _numbers(integers, numbers, THICKNESS2)[m]
    toe = _numbers(integers, numbers, TOE)[m]
    along = math.sqrt(fibre * fibre - thickness2)
    strain = (length - along) * _numbers(integers, numbers, INVERSE_TENDON)[m] - 1.0
    strain = 0.0 if strain < 0.0 else strain
    if strain > toe:
        slope = _numbers(integers, numbers, SLOPE)[m]
        return slope * (strain - toe) + TOE_FORCE, slope, along / fibre
    exponent = _numbers(integers, numbers, EXPONENT)[m]
    scale = TOE_FORCE / math.expm1(TOE_SHAPE)
    rising = scale * math.exp(strain * exponent)
    return rising - scale, exponent * rising if strain > 0.0 else 0.0, along / fibre


@inlined
def _fibre_after(m, activation, length, fibre, dt, integers, numbers, constants):
    """Fibre length after a physics step; see `Thelen.after`."""
    force, steepness, cos = _tendon(m, length, fibre, integers, numbers)
    inverse = _numbers(integers, numbers, INVERSE_FIBRE)[m]
    rate, scale = _numbers(integers, numbers, RATE)[m], _numbers(integers, numbers, SCALE)[m]
    shortest = _numbers(integers, numbers, SHORTEST)[m]
    af, flen = constants[SHAPE], constants[LENGTHENING]
    strain = fibre * inverse - 1.0
    stretch = math.exp(rate * strain) if strain > 0.0 else 1.0
    width = 1 / constants[WIDTH]
    x = activation * math.exp(-width * (strain * strain))
    pull = force / cos
    y = pull - scale * (stretch - 1.0)
    y0 = min(max(y, 0.0), (NEAR_LARGEST * flen) * x)
    if y0 <= x:
        b, by, bx = x + y0 * (1 / af), 1 / af, 1.0
    else:
        steep = (2 + 2 / af) / (flen - 1)
        b, by, bx = steep * (flen * x - y0), -steep, steep * flen
    k = ((0.25 + 0.75 * activation) * _numbers(integers, numbers, FASTEST)[m]) / b
    over = (y0 - x) / b
    vy = k * (1.0 - over * by)
    velocity = k * (y0 - x) + vy * (y - y0)
    vx = k * (-1.0 - over * bx)
    leaning = pull * (1.0 - cos * cos) / fibre
    dy = (leaning + steepness * _numbers(integers, numbers, INVERSE_TENDON)[m]) / (-cos * cos)
    if strain > 0.0:
        dy -= (scale * rate * inverse) * stretch
    dx = (-2 * width * inverse) * strain * x
    slope = vy * dy + vx * dx
    if fibre <= shortest and velocity < 0.0:
        velocity, slope = 0.0, 0.0
    longer = fibre + dt * velocity / (1.0 - (0.5 * dt) * slope)
    return shortest if longer < shortest else longer


@inlined
def _activation_rate(state, excitation, constants):
    activation = min(max(state, constants[LEAST]), 1.0)
    speed = 0.5 + 1.5 * activation
    gap = excitation - activation
    return gap * (1 / (constants[RISE] * speed) if gap > 0 else speed / constants[FALL])


@inlined
def _step(t):
    t = min(max(t, 0.0), 1.0)
    return t * t * t * (10 + t * (6 * t - 15))


@compiled
def _legs(side, integers, numbers, coordinates, rates, constants, work):
    """Add forces and damping of a leg's muscles and limits on its coordinates."""
    count, free = integers[LEG], integers[FREE]
    legs = _places(integers, LEGS)[side * count :]
    owner, pieces = _places(integers, OWNER), integers[PIECES]
    sign, rows = _numbers(integers, numbers, SIGN), _numbers(integers, numbers, ROWS)
    low, high = _numbers(integers, numbers, LIMIT_LOW), _numbers(integers, numbers, LIMIT_HIGH)
    line, drift, there, tension = work[_LINE:], work[_DRIFT:], work[_THERE:], work[_TENSION:]
    for c in range(count):
        place = legs[c]
        motion = work[_MOTION + _SPATIAL * place :]
        torque = 0.0
        for s in range(pieces):
            if there[s] == 0.0:
                continue
            turn = sign[c * pieces + s]
            longer = rows[c * pieces + s] * drift[s]
            if turn != 0.0:
                segment = line[_SPATIAL * s :]
                along = 0.0
                for i in range(_SPATIAL):
                    along += motion[i] * segment[i]
                longer += turn * along
            torque -= tension[owner[s]] * longer
        above, below = coordinates[c] - high[c], low[c] - coordinates[c]
        up, down = _step(above / constants[TRANSITION]), _step(below / constants[TRANSITION])
        damper = constants[DAMPING] * (up + down)
        torque += constants[STIFFNESS] * (down * below - up * above) - damper * rates[c]
        work[_RIGHT + place] += torque
        work[_DAMPING + place * free + place] += 0.5 * damper


@compiled
def _sphere(x, y, z, radius, place, axes, moving, com, constants, work):
    """Add the ground's force on a sphere of a foot, and its derivative by the foot's velocity.

    Returns:
        Whether it touches the ground.
    """
    depth = radius - (place[2] + axes[6] * x + axes[7] * y + axes[8] * z)
    if not depth > 0.0:
        return False
    ax = place[0] + axes[0] * x + axes[1] * y + axes[2] * z - com[0]
    ay = place[1] + axes[3] * x + axes[4] * y + axes[5] * z - com[1]
    az = -0.5 * depth - com[2]
    vx = moving[3] + moving[1] * az - moving[2] * ay
    vy = moving[4] + moving[2] * ax - moving[0] * az
    vz = moving[5] + moving[0] * ay - moving[1] * ax
    k = 0.5 * constants[CONTACT_STIFFNESS] ** (2 / 3)
    load = (4 / 3 * k) * depth * math.sqrt((radius * k) * depth)
    normal = load * max(1 - (1.5 * constants[DISSIPATION]) * vz, 0.0)
    slip = max(math.sqrt(vx * vx + vy * vy), constants[SLIP])
    drag = (constants[FRICTION] * normal) / slip
    stiffness = (constants[TIMESTEP] / constants[LIGHT]) * drag
    along = drag * (1.0 + stiffness) / (2.0 + stiffness)
    inwards = (0.75 * constants[DISSIPATION]) * load if normal > 0 else 0.0
    aslant = constants[FRICTION] * inwards / slip
    # Derivatives of the point's velocity by the body's angular velocity and velocity.
    lever, rows = work[_LEVER:], work[_SPHERE:]
    for i in range(3 * _SPATIAL):
        lever[i] = 0.0
    lever[1], lever[2], lever[3] = az, -ay, 1.0
    lever[6], lever[8], lever[10] = -az, ax, 1.0
    lever[12], lever[13], lever[17] = ay, -ax, 1.0
    for j in range(_SPATIAL):
        rows[j] = along * lever[j] - aslant * vx * lever[12 + j]
        rows[6 + j] = along * lever[6 + j] - aslant * vy * lever[12 + j]
        rows[12 + j] = inwards * lever[12 + j]
    wrench, damped = work[_PULL:], work[_DAMPED:]
    for i in range(_SPATIAL):
        a, b, c = lever[i], lever[6 + i], lever[12 + i]
        wrench[i] += c * normal - drag * (a * vx + b * vy)
        for j in range(_SPATIAL):
            damped[6 * i + j] += a * rows[j] + b * rows[6 + j] + c * rows[12 + j]
    return True


@compiled
def _foot(side, integers, numbers, fields, com, constants, work):
    """Add the ground's forces on a foot and their derivatives by velocity."""
    body, spheres = _places(integers, TALUS)[side], integers[SPHERES]
    place = _field(fields, XPOS, 3 * body + 3)[3 * body :]
    axes = _field(fields, XMAT, 9 * body + 9)[9 * body :]
    moving = _field(fields, CVEL, 6 * body + 6)[6 * body :]
    at = _numbers(integers, numbers, CENTRES)[side * 3 * spheres :]
    radii = _numbers(integers, numbers, RADII)
    wrench, damped = work[_PULL:], work[_DAMPED:]
    for i in range(_SPATIAL):
        wrench[i] = 0.0
    for i in range(_SPATIAL * _SPATIAL):
        damped[i] = 0.0
    touches = False
    for s in range(spheres):
        x, y, z = at[s], at[spheres + s], at[2 * spheres + s]
        if _sphere(x, y, z, radii[s], place, axes, moving, com, constants, work):
            touches = True
    if touches:
        _standing(side, integers, wrench, damped, work)


@compiled
def _standing(side, integers, wrench, damped, work):
    """Project a foot's wrench and its velocity derivatives on the coordinates."""
    count, free = integers[FOOT], integers[FREE]
    feet = _places(integers, FEET)[side * count :]
    half = work[_FOOT:]
    for c in range(count):
        motion = work[_MOTION + _SPATIAL * feet[c] :]
        for i in range(_SPATIAL):
            work[_RIGHT + feet[c]] += motion[i] * wrench[i]
            gained = 0.0
            for j in range(_SPATIAL):
                gained += motion[j] * damped[6 * j + i]
            half[_SPATIAL * c + i] = gained
    for c in range(count):
        row = half[_SPATIAL * c :]
        for d in range(count):
            motion = work[_MOTION + _SPATIAL * feet[d] :]
            change = 0.0
            for i in range(_SPATIAL):
                change += row[i] * motion[i]
            work[_DAMPING + feet[c] * free + feet[d]] += change


@compiled
def _solve(n, matrix, right):
    """Solve a system by elimination, overwriting both sides."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(matrix[i * n + k]) > abs(matrix[best * n + k]):
                best = i
        if best != k:
            for j in range(k, n):
                matrix[k * n + j], matrix[best * n + j] = matrix[best * n + j], matrix[k * n + j]
            right[k], right[best] = right[best], right[k]
        inverse = 1.0 / matrix[k * n + k]
        for i in range(k + 1, n):
            share = matrix[i * n + k] * inverse
            if share != 0.0:
                for j in range(k + 1, n):
                    matrix[i * n + j] -= share * matrix[k * n + j]
                right[i] -= share * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k * n + j] * right[j]
        right[k] /= matrix[k * n + k]


@compiled
def _equations(integers, fields, qvel, work):
    """Inertia of all joints and of the free coordinates, and bias forces of both."""
    joints, free = integers[JOINTS], integers[FREE]
    kept, slides = _places(integers, KEPT), _places(integers, SLIDES)
    knees, places = _places(integers, KNEES), _places(integers, DENSE)
    dense, total = work[_JOINT_INERTIA:], work[_TOTAL:]
    bias, right = work[_BIAS:], work[_RIGHT:]
    passive = _field(fields, BIAS, joints)
    for i in range(joints * joints):
        dense[i] = 0.0
        if places[i] >= 0:
            dense[i] = _field(fields, INERTIA, places[i] + 1)[places[i]]
    for i in range(joints):
        bias[i] = passive[i]
    for c in range(free):
        for d in range(free):
            total[c * free + d] = dense[kept[c] * joints + kept[d]]
    for side in range(SIDES):
        knee = work[_KNEE + side * 4 * MOST_FUNCTIONS :]
        speed = qvel[kept[knees[side]]]
        for axis in range(2):
            slide = slides[SIDES * axis + side]
            turning = knee[2 * MOST_FUNCTIONS + axis] * speed * speed
            for i in range(joints):
                bias[i] += dense[slide * joints + i] * turning
    for c in range(free):
        right[c] = -bias[kept[c]]
    for side in range(SIDES):
        knee = work[_KNEE + side * 4 * MOST_FUNCTIONS :]
        place, gain = knees[side], work[_GAIN + side * MOST_JOINTS :]
        x, y = slides[side], slides[SIDES + side]
        sx, sy = knee[MOST_FUNCTIONS], knee[MOST_FUNCTIONS + 1]
        right[place] -= sx * bias[x] + sy * bias[y]
        for c in range(free):
            gain[c] = sx * dense[x * joints + kept[c]] + sy * dense[y * joints + kept[c]]
        for c in range(free):
            total[place * free + c] += gain[c]
            total[c * free + place] += gain[c]
        total[place * free + place] += (
            sx * sx * dense[x * joints + x]
            + (2.0 * sx) * sy * dense[x * joints + y]
            + sy * sy * dense[y * joints + y]
        )


@compiled
def _drive(integers, numbers, fields, qpos, qvel, constants, counts, work, out):
    """Joint forces of the next physics step, from the accelerations."""
    joints, free = integers[JOINTS], integers[FREE]
    coordinates, slides, knees = (
        _places(integers, KEPT), _places(integers, SLIDES), _places(integers, KNEES),
    )  # fmt: skip
    dt = constants[TIMESTEP]
    right, wanted = work[_RIGHT:], work[_WANTED:]
    _solve(free, work[_TOTAL:], right)
    for c in range(free):
        wanted[coordinates[c]] = counts * right[c]
    for side in range(SIDES):
        knee = work[_KNEE + side * 4 * MOST_FUNCTIONS :]
        place = coordinates[knees[side]]
        speed = qvel[place] + dt * wanted[place]
        turn = speed * dt
        for axis in range(2):
            slide = slides[SIDES * axis + side]
            slope = knee[MOST_FUNCTIONS + axis] + turn * (
                knee[2 * MOST_FUNCTIONS + axis] / 2 + turn * (knee[3 * MOST_FUNCTIONS + axis] / 6)
            )
            mending = (constants[MENDED] / dt) * (knee[axis] - qpos[slide])
            wanted[slide] = (speed * slope + mending - qvel[slide]) / dt
    passive = _field(fields, BIAS, joints)
    for i in range(joints):
        force = passive[i]
        for j in range(joints):
            force += work[_JOINT_INERTIA + i * joints + j] * wanted[j]
        out[i] = force / constants[KILO]


@compiled
def _after_step(integers, numbers, fields, memory, work):
    """`Musculoskeletal.substep`."""
    joints, free, leg = integers[JOINTS], integers[FREE], integers[LEG]
    muscles, both = integers[MUSCLES], SIDES * integers[MUSCLES]
    constants = _numbers(integers, numbers, CONSTANTS_AT)
    free_places, slides, knees = (
        _places(integers, KEPT), _places(integers, SLIDES), _places(integers, KNEES),
    )  # fmt: skip
    qpos, qvel = _field(fields, QPOS, joints), _field(fields, QVEL, joints)
    com, cdof = _field(fields, SUBTREE_COM, 6)[3:], _field(fields, CDOF, 6 * joints)
    excitation, activation = memory[0:both], memory[both : 2 * both]
    fibre, length = memory[2 * both : 3 * both], memory[3 * both : 4 * both]
    drive, done = memory[4 * both : 4 * both + joints], memory[4 * both + joints :]
    dt = constants[TIMESTEP]
    motion = work[_MOTION:]
    for c in range(free):
        for i in range(_SPATIAL):
            motion[_SPATIAL * c + i] = cdof[_SPATIAL * free_places[c] + i]
    for side in range(SIDES):
        knee, place = work[_KNEE + side * 4 * MOST_FUNCTIONS :], knees[side]
        _splines(qpos[free_places[place]], integers, numbers, knee)
        for axis in range(2):
            slide = slides[SIDES * axis + side]
            for i in range(_SPATIAL):
                motion[_SPATIAL * place + i] += (
                    knee[MOST_FUNCTIONS + axis] * cdof[_SPATIAL * slide + i]
                )
    _equations(integers, fields, qvel, work)
    done[0] += 1.0
    counts = 1.5 if done[0] == integers[SUBSTEPS] - 1 else 1.0
    total, damping = work[_TOTAL:], work[_DAMPING:]
    for i in range(free * free):
        damping[i] = 0.0
    coordinates, rates = work[_WANTED:], work[_WANTED + MOST_JOINTS // 2 :]
    for side in range(SIDES):
        legs = _places(integers, LEGS)[side * leg :]
        for c in range(leg):
            coordinates[c], rates[c] = qpos[free_places[legs[c]]], qvel[free_places[legs[c]]]
        knee = work[_KNEE + side * 4 * MOST_FUNCTIONS :]
        _points(side, integers, numbers, fields, com, knee, work)
        _paths(side, integers, numbers, coordinates, work)
        force = _numbers(integers, numbers, FORCE)
        for m in range(muscles):
            k = side * muscles + m
            before = activation[k]
            halfway = before + (0.5 * dt) * _activation_rate(before, excitation[k], constants)
            after = before + dt * _activation_rate(halfway, excitation[k], constants)
            active = min(max(0.5 * (before + after), constants[LEAST]), 1.0)
            long = work[_LENGTH + m]
            fibre[k] = _fibre_after(
                m, active, 0.5 * (length[k] + long), fibre[k], dt, integers, numbers, constants
            )
            activation[k], length[k] = after, long
            work[_TENSION + m] = _tendon(m, long, fibre[k], integers, numbers)[0] * force[m]
        _legs(side, integers, numbers, coordinates, rates, constants, work)
        _foot(side, integers, numbers, fields, com, constants, work)
    for i in range(free * free):
        total[i] += (counts * dt) * damping[i]
    for c in range(free):
        total[c * free + c] += constants[ANY_INERTIA]
    _drive(integers, numbers, fields, qpos, qvel, constants, counts, work, drive)


@law_function
def law(phase, fields_at, numbers_at, integers_at_, memory_at, work_at, blas_at):
    """Forces of a simulation, see `mjgym_fast.stepping.Law`."""
    fields, integers = (
        carray(integers_at(fields_at), len(LAW_FIELDS)),
        carray(integers_at(integers_at_), 1 << 20),
    )
    numbers, memory = carray(floats_at(numbers_at), 1 << 20), carray(floats_at(memory_at), 1 << 20)
    work = carray(floats_at(work_at), WORK)
    if phase == 1:
        _after_step(integers, numbers, fields, memory, work)
        return 1
    joints = integers[JOINTS]
    ctrl = _field(fields, CTRL, joints)
    drive = memory[4 * SIDES * integers[MUSCLES] :]
    kilo = _numbers(integers, numbers, CONSTANTS_AT)[KILO]
    for i in range(joints):
        ctrl[i] = kilo * drive[i]
    return 1
