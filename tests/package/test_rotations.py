"""Vectors and rotations against the engine's own functions, one and many."""

import mujoco
import numpy as np
import pytest

from mjgym import rotations
from mjgym.rotations import about_z, norm, to_local

N = 1000


def bits(x):
    return np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)


@pytest.fixture(scope="module")
def frames():
    """Random unit quaternions, their matrices as the engine makes them, and random vectors."""
    rng = np.random.default_rng(0)
    quaternions = rng.normal(size=(N, 4))
    quaternions /= np.linalg.norm(quaternions, axis=-1, keepdims=True)
    matrices = np.empty((N, 9))
    for quaternion, matrix in zip(quaternions, matrices, strict=True):
        mujoco.mju_quat2Mat(matrix, quaternion)
    return quaternions, matrices, rng.normal(size=(N, 3)) * 10.0 ** rng.integers(-6, 6, size=(N, 1))


def test_entries_of_a_matrix(frames):
    """The first letter is the world's axis, the second the body's."""
    quaternions, matrices, _ = frames
    for column, axis in enumerate("XYZ"):
        for quaternion, matrix in zip(quaternions[:50], matrices[:50], strict=True):
            in_world = np.empty(3)
            mujoco.mju_rotVecQuat(in_world, np.eye(3)[column], quaternion)
            for row, world in enumerate("XYZ"):
                entry = matrix[getattr(rotations, world + axis)]
                assert entry == pytest.approx(in_world[row], abs=1e-14)


def test_z_row_is_the_vertical_as_seen_from_the_body(frames):
    quaternions, matrices, _ = frames
    for quaternion, matrix in zip(quaternions[:50], matrices[:50], strict=True):
        back, seen = np.empty(4), np.empty(3)
        mujoco.mju_negQuat(back, quaternion)
        mujoco.mju_rotVecQuat(seen, np.array([0.0, 0.0, 1.0]), back)
        np.testing.assert_allclose(matrix[rotations.Z_ROW], seen, atol=1e-14)


def test_to_local_turns_world_vectors_as_the_engine_does(frames):
    quaternions, matrices, vectors = frames
    got = to_local(matrices, vectors)
    assert got.shape == (N, 3)
    for quaternion, matrix, vector, local in zip(quaternions, matrices, vectors, got, strict=True):
        by_matrix, by_quaternion, back = np.empty(3), np.empty(3), np.empty(4)
        mujoco.mju_mulMatTVec3(by_matrix, matrix, vector)
        mujoco.mju_negQuat(back, quaternion)
        mujoco.mju_rotVecQuat(by_quaternion, vector, back)
        scale = np.abs(vector).max()
        np.testing.assert_allclose(local, by_matrix, rtol=0, atol=1e-15 * scale)
        np.testing.assert_allclose(local, by_quaternion, rtol=0, atol=1e-14 * scale)


def test_to_local_of_one_and_of_many_have_the_same_bits(frames):
    _, matrices, vectors = frames
    many = to_local(matrices, vectors)
    one = [to_local(m, v) for m, v in zip(matrices, vectors, strict=True)]
    assert (bits(many) == bits(one)).all()
    for n in range(1, 18):
        assert (bits(to_local(matrices[:n], vectors[:n])) == bits(many[:n])).all()
    spread = np.zeros((N, 2, 9))
    spread[:, 1] = matrices
    assert (bits(to_local(spread[:, 1], vectors[::-1][::-1])) == bits(many)).all()


def test_to_local_of_several_vectors_in_one_frame(frames):
    _, matrices, vectors = frames
    several = vectors[:800].reshape(200, 4, 3)
    got = to_local(matrices[:200, None, :], several)
    assert got.shape == (200, 4, 3)
    for i in range(200):
        for j in range(4):
            assert (bits(got[i, j]) == bits(to_local(matrices[i], several[i, j]))).all()


def test_norm_is_the_euclidean_length(frames):
    _, _, vectors = frames
    expected = [mujoco.mju_norm(v) for v in vectors]
    np.testing.assert_allclose(norm(vectors), expected, rtol=1e-15)
    assert norm(np.array([3.0, -4.0])) == 5
    assert norm(np.zeros(3)) == 0
    assert norm(np.zeros((2, 5, 3))).tolist() == [[0] * 5] * 2


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 9, 16, 17, 56])
def test_norm_of_one_and_of_many_have_the_same_bits(n):
    vectors = np.random.default_rng(n).normal(size=(N, n))
    many = norm(vectors)
    assert np.shape(norm(vectors[0])) == ()
    assert many.shape == (N,)
    assert (bits(many) == bits([norm(v) for v in vectors])).all()
    for m in range(1, 18):
        assert (bits(norm(vectors[:m])) == bits(many[:m])).all()
    assert (bits(norm(vectors.reshape(10, 100, n))) == bits(many.reshape(10, 100))).all()
    spread = np.zeros((N, 3, n))  # as the bodies of a simulation lie
    spread[:, 1] = vectors
    assert (bits(norm(spread[:, 1])) == bits(many)).all()
    assert (bits(norm(np.asfortranarray(vectors))) == bits(many)).all()
    every_second = np.zeros((N, 2 * n))
    every_second[:, ::2] = vectors
    assert (bits(norm(every_second[:, ::2])) == bits(many)).all()


def test_about_z_is_the_engines_quaternion():
    angles = np.random.default_rng(0).uniform(-10, 10, size=N)
    many = about_z(angles)
    assert many.shape == (N, 4)
    for angle, quaternion in zip(angles, many, strict=True):
        expected = np.empty(4)
        mujoco.mju_axisAngle2Quat(expected, np.array([0.0, 0.0, 1.0]), angle)
        np.testing.assert_allclose(quaternion, expected, atol=1e-15)
        assert (bits(about_z(angle)) == bits(quaternion)).all()
        assert (bits(about_z(float(angle))) == bits(quaternion)).all()
    assert (bits(about_z(angles.reshape(10, 100))) == bits(many.reshape(10, 100, 4))).all()
    assert about_z(0.0).tolist() == [1, 0, 0, 0]


def test_products_of_matrices_and_vectors_are_the_engines(frames):
    _, matrices, vectors = frames
    pairs = zip(matrices, matrices[::-1], vectors, vectors[::-1], strict=True)
    for a, b, u, v in pairs:
        product, turned, vertical = np.empty((3, 3)), np.empty(3), np.empty(3)
        mujoco.mju_mulMatMat(product, a.reshape(3, 3), b.reshape(3, 3))
        mujoco.mju_mulMatVec3(turned, a, v)
        mujoco.mju_cross(vertical, u, v)
        np.testing.assert_allclose(rotations.compose(a, b), product.ravel(), rtol=0, atol=1e-15)
        np.testing.assert_allclose(rotations.to_world(a, v), turned, rtol=1e-12, atol=1e-12)
        assert (bits(rotations.cross(u, v)) == bits(vertical)).all()
        assert (bits(rotations.transposed(a)) == bits(a.reshape(3, 3).T.ravel())).all()


ANGLES = (0.0, 1e-300, 1e-160, 1e-12, 1e-6, 0.3, 1.5, 3.0, np.pi - 1e-6, np.pi - 1e-12, np.pi)


def test_rotation_vectors_are_the_engines_axes_and_angles(frames):
    _, _, vectors = frames
    axes = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    for angle in ANGLES:
        matrices = rotations.from_rotation_vector(angle * axes)
        back = rotations.to_rotation_vector(matrices)
        for axis, matrix, vector in zip(axes[:100], matrices, back, strict=False):
            quaternion, expected = np.empty(4), np.empty(9)
            mujoco.mju_axisAngle2Quat(quaternion, axis, angle)
            mujoco.mju_quat2Mat(expected, quaternion)
            np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-14)
            # Half a turn is one about either end of the axis.
            side = -1 if angle > 3.1 and vector @ axis < 0 else 1
            np.testing.assert_allclose(side * vector, angle * axis, rtol=0, atol=1e-11)


def test_rotation_vectors_about_the_axes_themselves():
    for axis in np.concatenate([np.eye(3), -np.eye(3)]):
        for angle in ANGLES[:-1]:
            back = rotations.to_rotation_vector(rotations.from_rotation_vector(angle * axis))
            np.testing.assert_allclose(back, angle * axis, rtol=0, atol=1e-14)


def test_rotation_error_is_the_axis_times_the_sine(frames):
    _, matrices, vectors = frames
    axes = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    angles = np.linspace(0, np.pi, N)[:, None]
    wanted = rotations.compose(rotations.from_rotation_vector(angles * axes), matrices)
    error = rotations.rotation_error(matrices, wanted)
    np.testing.assert_allclose(error, np.sin(angles) * axes, rtol=0, atol=1e-14)
    a, b = matrices.reshape(N, 3, 3), wanted.reshape(N, 3, 3)
    crosses = sum(np.cross(a[:, :, i], b[:, :, i]) for i in range(3)) / 2
    np.testing.assert_allclose(error, crosses, rtol=0, atol=1e-15)


PRODUCTS = {
    "to_world": lambda a, b, u, v: rotations.to_world(a, u),
    "compose": lambda a, b, u, v: rotations.compose(a, b),
    "transposed": lambda a, b, u, v: rotations.transposed(a),
    "cross": lambda a, b, u, v: rotations.cross(u, v),
    "from_rotation_vector": lambda a, b, u, v: rotations.from_rotation_vector(u),
    "to_rotation_vector": lambda a, b, u, v: rotations.to_rotation_vector(a),
    "rotation_error": lambda a, b, u, v: rotations.rotation_error(a, b),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_one_and_of_many_and_of_other_libraries(frames, name):
    import array_api_strict as xp

    _, matrices, vectors = frames
    given = (matrices, matrices[::-1], vectors, vectors[::-1])
    many = PRODUCTS[name](*given)
    one = [PRODUCTS[name](*row) for row in zip(*given, strict=True)]
    assert (bits(many) == bits(one)).all()
    shaped = PRODUCTS[name](*(x.reshape(10, 100, -1) for x in given))
    assert (bits(shaped) == bits(many.reshape(10, 100, -1))).all()
    other = PRODUCTS[name](*(xp.asarray(x.copy()) for x in given))
    assert type(other) is type(xp.asarray(0.0))
    np.testing.assert_allclose(np.asarray(other), many, rtol=1e-14, atol=1e-14)


def test_other_array_libraries(frames):
    """`array_api_strict` has nothing but what the array standard demands."""
    import array_api_strict as xp

    _, matrices, vectors = frames
    local = to_local(xp.asarray(matrices), xp.asarray(vectors))
    assert (bits(np.asarray(local)) == bits(to_local(matrices, vectors))).all()
    length, one = norm(xp.asarray(vectors)), norm(xp.asarray(vectors[0]))
    np.testing.assert_allclose(np.asarray(length), norm(vectors), rtol=1e-15)
    np.testing.assert_allclose(np.asarray(one), norm(vectors)[0], rtol=1e-15)
    for result in (local, length, one):
        assert type(result) is type(xp.asarray(0.0))
