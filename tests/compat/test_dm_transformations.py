"""Rotations under dm_control's names."""

import mujoco
import numpy as np
import pytest

from mjgym_compat.dm_control.utils import transformations as t

ORDERINGS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX"]
ABOUT = {"X": t.rotation_x_axis, "Y": t.rotation_y_axis, "Z": t.rotation_z_axis}


@pytest.fixture
def quats():
    drawn = np.random.default_rng(0).normal(size=(20, 4))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize(
    "angles", [(0.3, 0.7, -1.2), (-2, 0.1, 3), (0.3, np.pi / 2, 0.4), (0.3, -np.pi / 2, 0.4)]
)
def test_euler_angles_multiply_and_come_back(ordering, angles):
    a, b, c = (ABOUT[axis](angle) for axis, angle in zip(ordering, angles, strict=True))
    mat = t.euler_to_rmat(angles, ordering)
    np.testing.assert_allclose(mat, a @ b @ c, atol=1e-14)
    np.testing.assert_allclose(
        t.euler_to_rmat(t.rmat_to_euler(mat, ordering), ordering), mat, atol=1e-7
    )
    np.testing.assert_allclose(
        t.quat_to_mat(t.euler_to_quat(angles, ordering))[:3, :3], mat, atol=1e-14
    )


@pytest.mark.parametrize("middle", [0.0, np.pi])
def test_equal_outer_axes_come_back_at_a_pole(middle):
    mat = t.euler_to_rmat((0.3, middle, 0.4), "XYX")
    np.testing.assert_allclose(t.euler_to_rmat(t.rmat_to_euler(mat, "XYX"), "XYX"), mat, atol=1e-7)


def test_an_unknown_ordering_is_refused():
    with pytest.raises(KeyError, match="XYX"):
        t.rmat_to_euler(np.eye(3), "ZXZ")


def test_the_engine_agrees(quats):
    for a, b in zip(quats, quats[::-1], strict=True):
        product, mat, turned = np.empty(4), np.empty(9), np.empty(3)
        mujoco.mju_mulQuat(product, a, b)
        mujoco.mju_quat2Mat(mat, a)
        mujoco.mju_rotVecQuat(turned, np.array([1.0, 2, 3]), a)
        np.testing.assert_allclose(t.quat_mul(a, b), product, atol=1e-14)
        np.testing.assert_allclose(t.quat_to_mat(3 * a)[:3, :3], mat.reshape(3, 3), atol=1e-14)
        np.testing.assert_allclose(t.quat_rotate(a, [1, 2, 3]), turned, atol=1e-14)
        back = t.mat_to_quat(t.quat_to_mat(a))
        np.testing.assert_allclose(back * np.sign(back[0]), a * np.sign(a[0]), atol=1e-14)
    np.testing.assert_allclose(t.quat_mul(quats, quats[::-1])[3], t.quat_mul(quats[3], quats[-4]))


def test_inverses_and_distances(quats):
    np.testing.assert_allclose(t.quat_mul(3 * quats, t.quat_inv(3 * quats))[:, 0], 1, atol=1e-14)
    there = t.quat_mul(quats, t.quat_diff(quats, quats[::-1]))
    np.testing.assert_allclose(there, quats[::-1], atol=1e-14)
    turned = t.quat_mul(quats, t.axisangle_to_quat([0.0, 0.6, 0.8]))
    np.testing.assert_allclose(t.quat_dist(turned, quats), 0.5, atol=1e-12)
    np.testing.assert_allclose(t.quat_log([2.0, 0, 0, 0]), [np.log(2), 0, 0, 0], atol=1e-14)


def test_axis_and_angle():
    quat = t.axisangle_to_quat([[0, 0, np.pi / 2], [0, 0, 0.01]], tol=0.1)
    np.testing.assert_allclose(quat, [[np.sqrt(0.5), 0, 0, np.sqrt(0.5)], [1, 0, 0, 0]], atol=1e-14)
    np.testing.assert_allclose(t.quat_to_axisangle(-quat[0]), [0, 0, np.pi / 2], atol=1e-14)
    np.testing.assert_allclose(t.rotation_matrix_2d(np.pi / 2), [[0, -1], [1, 0]], atol=1e-14)


def test_homogeneous_matrices():
    mats = t.rotation_z_axis(np.array([0.0, 0.3]), full=True)
    assert mats.shape == (2, 4, 4)
    np.testing.assert_array_equal(mats[:, 3], [[0, 0, 0, 1]] * 2)
    np.testing.assert_array_equal(t.quat_to_mat(np.zeros(4)), np.eye(4))
