"""What MuJoCo remembers from step to step is in the states of simulations, and nothing else is.

The list of a state's fields is the engine's; the engine itself says here what belongs on it.
"""

import copy

import mujoco
import numpy as np
import pytest
from mujoco.introspect.structs import STRUCTS

from helpers.lanes import lane
from helpers.stateful_models import MODELS, drive
from mjgym.sim import Batched, Single
from mjgym.sim.engine import LATENT_FIELDS, STATE_FIELDS, state_dtype, state_fields

STEPS = 20
ARRAYS = tuple(f.name for f in STRUCTS["mjData"].fields if hasattr(f, "array_extent"))
INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)

# No engine plugin that MuJoCo ships has a state.
WITHOUT_EXAMPLE = {"plugin_state"}


def moved(has):
    """A model, and its data in motion, with everything set that a user may set."""
    model = mujoco.MjModel.from_xml_string(MODELS[has])
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qvel[:] = rng.normal(0, 0.3, model.nv)
    drive(data, rng)
    mujoco.mj_step(model, data, 50)
    return model, data


def future(model, data, steps=STEPS):
    """Positions, velocities, sensors, and what the user keeps there, after each of some steps."""
    seen = []
    for _ in range(steps):
        mujoco.mj_step(model, data)
        seen.append(np.concatenate([data.qpos, data.qvel, data.sensordata, data.userdata]))
    return np.array(seen)


def arrays_that_matter(has):
    """Arrays without which a simulation does not go on as it would."""
    model, data = moved(has)
    right, fresh = future(model, copy.copy(data)), mujoco.MjData(model)
    matter = set()
    late = copy.copy(data)
    late.time = 0.0  # a number, no array
    if not np.array_equal(future(model, late), right):
        matter.add("time")
    for name in ARRAYS:
        held, default = getattr(data, name, None), getattr(fresh, name, None)
        if not isinstance(held, np.ndarray) or held.shape != default.shape or held.dtype == object:
            continue  # arrays of contacts and constraints, which no step begins with
        if not np.array_equal(held, default):
            other = copy.copy(data)
            getattr(other, name)[...] = default
            if not np.array_equal(future(model, other), right):
                matter.add(name)
    return matter


@lane(0, 5)
def test_the_arrays_that_matter_are_those_of_a_state():
    """Fails with a MuJoCo that remembers more than is known here."""
    matter = set().union(*map(arrays_that_matter, MODELS))
    assert matter | WITHOUT_EXAMPLE == {*STATE_FIELDS, *LATENT_FIELDS}


def test_every_component_of_the_engine_s_state_is_known():
    """Fails with a MuJoCo whose state has a component of another name."""
    model, data = moved("delays")
    names = [name for name in mujoco.mjtState.__members__ if name.startswith("mjSTATE_")]
    parts = {int(mujoco.mjtState.__members__[name]) for name in names}
    parts = sorted(part for part in parts if part.bit_count() == 1)
    assert sum(parts) == INTEGRATION
    assert len(parts) == len(STATE_FIELDS)
    for part, name in zip(parts, STATE_FIELDS, strict=True):
        held = np.ravel(getattr(data, name))
        numbers = np.empty(mujoco.mj_stateSize(model, part))
        mujoco.mj_getState(model, data, numbers, part)
        assert np.array_equal(held, numbers), name
        assert (name in state_fields(model)) == bool(held.size)


@pytest.mark.parametrize("has", MODELS)
def test_a_simulation_goes_on_from_its_state(has):
    model, data = moved(has)
    one, other = (Single(copy.copy(model)) for _ in range(2))
    mujoco.mj_copyData(one.data, model, data)
    one.forward()
    control = np.array(data.ctrl)
    one.step(control, 10)
    state = one.get_state()
    for name, values in state.items():
        held = getattr(one.data, name)
        assert values.dtype == np.asarray(held).dtype, name
    other.set_state(state)
    for _ in range(10):
        one.step(control, 3)
        other.step(control, 3)
        assert all(np.array_equal(x, other.get_state()[n]) for n, x in one.get_state().items())


@pytest.mark.parametrize("has", MODELS)
def test_a_batch_has_the_states_of_single_simulations(has):
    model, data = moved(has)
    single, batch = Single(model), Batched(model, 3, 1)
    rows = np.arange(3)
    assert {n: (x.dtype, x.shape[1:]) for n, x in batch.get_state(rows).items()} == {
        n: (x.dtype, x.shape[1:]) for n, x in single.get_state().items()
    }
    mujoco.mj_copyData(single.data, model, data)
    state = {n: x for n, x in single.get_state().items() if n != "sensordata"}
    if has == "IPC":
        with pytest.raises(ValueError, match="flag ipc"):
            batch.set_state({n: np.repeat(x, 3, axis=0) for n, x in state.items()}, rows)
        return
    batch.set_state({n: np.repeat(x, 3, axis=0) for n, x in state.items()}, rows)
    single.set_state(state)
    control = np.array(data.ctrl)
    for _ in range(10):
        single.step(control, 3)
        batch.step(np.tile(control, (3, 1)), 3)
    ours = batch.get_state(rows)
    for name, values in single.get_state().items():
        assert np.array_equal(ours[name], np.repeat(values, 3, axis=0)), name


def test_a_view_has_the_types_of_the_engine():
    model, _ = moved("switched")
    single, batch = Single(model), Batched(model, 2, 1)
    for name in state_fields(model):
        expected = np.asarray(getattr(single.data, name)).dtype
        assert state_dtype(name) == expected
        assert np.asarray(getattr(single.view, name)).dtype == expected
        assert getattr(batch.view, name).dtype == expected, name
    assert batch.view.eq_active.tolist() == [[False], [False]]
    batch.write({"eq_active": np.array([[False], [True]])})
    assert batch.view.eq_active.tolist() == [[False], [True]]
    with pytest.raises(ValueError, match="read-only"):
        batch.view.eq_active = True  # a copy: a batch holds numbers
