"""Camera matrices, depth in metres, and projections between the world and images.

Image rows are counted from the top: flip images of `IMAGE_CONVENTION` "opengl" first.
"""

from typing import Any

import numpy as np

from mjgym_compat.robosuite.utils import transform_utils

# MuJoCo's cameras look along -z with y up; image frames along z with y down.
DOWNWARDS = np.diag([1.0, -1.0, -1.0, 1.0])


def get_camera_intrinsic_matrix(
    sim: Any, camera_name: str, camera_height: int, camera_width: int
) -> np.ndarray:
    """The intrinsic matrix (3, 3), from camera coordinates to pixels."""
    fovy = np.deg2rad(sim.model.cam_fovy[sim.model.camera_name2id(camera_name)])
    focal = camera_height / 2 / np.tan(fovy / 2)
    return np.array([[focal, 0, camera_width / 2], [0, focal, camera_height / 2], [0, 0, 1]])


def get_camera_extrinsic_matrix(sim: Any, camera_name: str) -> np.ndarray:
    """A camera's pose (4, 4) in the world: x to the right, y down, z forward."""
    data = sim.data
    pose = transform_utils.make_pose(
        data.get_camera_xpos(camera_name), data.get_camera_xmat(camera_name)
    )
    return np.asarray(pose @ DOWNWARDS)


def get_camera_transform_matrix(
    sim: Any, camera_name: str, camera_height: int, camera_width: int
) -> np.ndarray:
    """The matrix (4, 4) from world coordinates to pixels times their depth."""
    whole = np.eye(4)
    whole[:3, :3] = get_camera_intrinsic_matrix(sim, camera_name, camera_height, camera_width)
    pose = get_camera_extrinsic_matrix(sim, camera_name)
    return np.asarray(whole @ transform_utils.pose_inv(pose))


def get_camera_segmentation(
    sim: Any, camera_name: str, camera_height: int, camera_width: int
) -> np.ndarray:
    """Types and ids of the elements in each pixel, (height, width, 2), bottom row last."""
    segmentation = sim.render(
        camera_name=camera_name, height=camera_height, width=camera_width, segmentation=True
    )
    return np.asarray(segmentation[::-1])


def get_real_depth_map(sim: Any, depth_map: Any) -> np.ndarray:
    """Depth in metres from depth normalized to 0 to 1.

    Raises:
        ValueError: a value lies outside.
    """
    depth = np.asarray(depth_map)
    if depth.size and not (depth.min() >= 0 and depth.max() <= 1):
        raise ValueError(f"depth_map: from {depth.min():g} to {depth.max():g}, expected 0 to 1")
    extent, planes = sim.model.stat.extent, sim.model.vis.map
    near, far = planes.znear * extent, planes.zfar * extent
    return np.asarray(near / (1 - depth * (1 - near / far)))


def project_points_from_world_to_camera(
    points: Any, world_to_camera_transform: Any, camera_height: int, camera_width: int
) -> np.ndarray:
    """Pixels, rows and columns (..., 2), of world points (..., 3).

    Points outside the image are clipped to its edge.
    """
    points = np.asarray(points, float)
    homogenous = np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)
    projected = homogenous @ np.asarray(world_to_camera_transform).T
    column, row = (np.round(projected[..., i] / projected[..., 2]).astype(int) for i in (0, 1))
    return np.stack([row.clip(0, camera_height - 1), column.clip(0, camera_width - 1)], axis=-1)


def transform_from_pixels_to_world(
    pixels: Any, depth_map: Any, camera_to_world_transform: Any
) -> np.ndarray:
    """World points (..., 3) seen in pixels.

    Args:
        pixels: rows and columns (..., 2); fractional ones are interpolated.
        depth_map: depth images, m, (..., height, width, 1), one for each pixel.
        camera_to_world_transform: the inverse of `get_camera_transform_matrix`.

    Raises:
        ValueError: the numbers of images and pixels differ.
    """
    pixels, depth_map = np.asarray(pixels, float), np.asarray(depth_map)
    lead = pixels.shape[:-1]
    if depth_map.shape[:-3] != lead:
        raise ValueError(f"depth_map: expected shape {(*lead, 'height', 'width', 1)}")
    height, width = depth_map.shape[-3:-1]
    flat = depth_map.reshape(-1, height, width)
    number = np.arange(len(flat))
    row, column = pixels.reshape(-1, 2).T
    low, left = np.floor(row).astype(int), np.floor(column).astype(int)
    up, along = row - low, column - left
    depth = np.zeros(len(flat))
    for i, share in ((low, 1 - up), (low + 1, up)):
        for j, part in ((left, 1 - along), (left + 1, along)):
            rows, columns = i.clip(0, height - 1), j.clip(0, width - 1)
            depth += share * part * flat[number, rows, columns]
    depth = depth.reshape(lead)
    row, column = pixels[..., 0], pixels[..., 1]
    scaled = np.stack([column * depth, row * depth, depth, np.ones_like(depth)], axis=-1)
    to_world = np.reshape(camera_to_world_transform, (4, 4))
    return np.asarray(scaled @ to_world.T)[..., :3]


def bilinear_interpolate(im: np.ndarray, x: Any, y: Any) -> np.ndarray:
    """Values of an image, (height, width, ...), between pixels; 0 beyond the last ones."""
    x, y = np.asarray(x), np.asarray(y)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    columns = [(np.clip(left + i, 0, im.shape[1] - 1)) for i in (0, 1)]
    rows = [(np.clip(top + i, 0, im.shape[0] - 1)) for i in (0, 1)]
    across = columns[1] - x, x - columns[0]
    down = rows[1] - y, y - rows[0]
    pairs = [(i, j) for i in (0, 1) for j in (0, 1)]
    return np.asarray(sum(across[i] * down[j] * im[rows[j], columns[i]] for i, j in pairs))
