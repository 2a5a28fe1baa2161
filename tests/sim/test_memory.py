"""Room of a model for the constraints of creatures that lie folded up, as learners come upon."""

import mujoco
import numpy as np
import pytest

from helpers.registered import registered_task
from mjgym.task.models import compile_model

BEYOND = 0.1  # rad, of hinges past their limits
SUNK = 0.1  # m, of roots below the ground
FOLDS = 10
FULL = mujoco.mjtWarning.mjWARN_CNSTRFULL, mujoco.mjtWarning.mjWARN_CONTACTFULL


# The largest of each family whose solver has a matrix of all pairs of constraints.
@pytest.mark.parametrize(
    "id",
    [
        "dmc/dog-walk-v0",
        pytest.param("dmc/dog-fetch-v0", marks=pytest.mark.slow),
        "locomotion/cmu_humanoid-maze_forage-v0",
        "locomotion/rodent-escape_bowl-v0",
        "manipulation/reassemble_5_bricks_random_order_features-v0",
        "soccer/humanoid-2v2-v0",
    ],
)
def test_no_constraint_is_left_out(id):
    model = compile_model(registered_task(id))
    assert model.opt.noslip_iterations
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    hinges = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
    ends = model.jnt_range[hinges] + np.array([-BEYOND, BEYOND])
    most = 0
    for _ in range(FOLDS):
        mujoco.mj_resetData(model, data)
        data.qpos[model.jnt_qposadr[hinges]] = rng.permuted(ends, axis=1)[:, 0]
        for start in model.jnt_qposadr[model.jnt_type == mujoco.mjtJoint.mjJNT_FREE]:
            data.qpos[start + 2] = -SUNK
            data.qpos[start + 3 : start + 7] = rng.normal(size=4)
        mujoco.mj_step(model, data)
        most = max(most, data.nefc)
        assert not any(data.warning[kind].number for kind in FULL)
    assert most > 300  # it was a heap
