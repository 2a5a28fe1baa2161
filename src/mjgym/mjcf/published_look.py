"""Meshes, skins and textures of the installed dm_control, for images alone."""

from pathlib import Path

import mujoco
import numpy as np

from mjgym.mjcf.coats import COVERED
from mjgym.mjcf.compose import add
from mjgym.mjcf.elements import Spec
from mjgym.util.packaged import install, package_folder

PACKAGE = "dm_control"
MESH = mujoco.mjtGeom.mjGEOM_MESH
SHOWN = 3  # number of groups of geoms that are shown
LIGHTEST = 1e-9  # kg and kg m2, of bodies whose bones are left out
GRASS = "published_grass"
OUTDOORS = "locomotion/arenas/assets/outdoor_natural"
GRASS_PICTURE = f"{OUTDOORS}/OutdoorGrassFloorD.png"
CROSS = ".U..LFRB.D.."  # six faces of a cube in a picture of 3 by 4


def folder(package: str = PACKAGE) -> Path:
    """The folder of an installed package; ModuleNotFoundError if it is not installed."""
    try:
        return package_folder(package)
    except ImportError:
        raise ModuleNotFoundError(
            f'look="published" takes meshes, skins and textures from {package}, which is not'
            f" installed: {install('dm-control')}, or leave look out for our own",
            name=package,
        ) from None


def wear(spec: Spec, file: str, prefix: str = "") -> None:
    """Give a creature the skin and the visible meshes of a published file.

    Its bodies have the published names behind `prefix`. Shapes that are not published are hidden,
    the others get their published colours.
    """
    model = _visible(folder() / file)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for k in range(model.nskin):
        _copy_skin(spec, model, k, prefix)
    named = {model.geom(i).name: i for i in range(model.ngeom)}
    bodies = {prefix + model.body(i).name for i in range(1, model.nbody)}
    for geom in spec.geoms:
        if geom.parent.name in bodies:
            there = named.get(geom.name.removeprefix(prefix))
            if there is None:
                geom.group = COVERED if geom.group < SHOWN else geom.group
            elif geom.material:
                geom.material = _plain(spec, model.geom_rgba[there])
    for i in np.flatnonzero(model.geom_type == MESH):
        _add_mesh(spec, model, data, int(i), prefix)


def add_outdoors(spec: Spec) -> str:
    """Replace the sky by the published one; returns the name of the material of its grass."""
    replace_cube(spec, "sky", f"{OUTDOORS}/OutdoorSkybox2048.png")
    grass = spec.add_texture(name=GRASS, type=mujoco.mjtTexture.mjTEXTURE_2D)
    grass.file = str(folder() / GRASS_PICTURE)
    add(spec, "material", name=GRASS, textures=GRASS, texuniform=True)
    return GRASS


def add_tiles(spec: Spec, file: str, side: float) -> str:
    """Add a material of tiles, of a side in m, with a picture of labmaze; returns its name."""
    name = f"tiled_{file}"
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D)
    texture.file = str(folder("labmaze") / file if file.startswith("assets") else folder() / file)
    add(spec, "material", name=name, textures=name, texrepeat=(1 / side, 1 / side))
    return name


def replace_cube(spec: Spec, name: str, file: str) -> None:
    """Replace a texture by the six faces of a cube in a published picture."""
    texture = spec.texture(name)
    texture.builtin, texture.mark = mujoco.mjtBuiltin.mjBUILTIN_NONE, mujoco.mjtMark.mjMARK_NONE
    texture.file, texture.gridsize, texture.gridlayout = str(folder() / file), (3, 4), CROSS


def _visible(path: Path) -> mujoco.MjModel:
    """The model of a file without meshes that are hidden."""
    spec = mujoco.MjSpec.from_file(str(path))
    for geom in list(spec.geoms):
        if geom.type == MESH and geom.group >= SHOWN:
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)
    spec.compiler.boundmass = spec.compiler.boundinertia = LIGHTEST
    return spec.compile()


def _copy_skin(spec: Spec, model: mujoco.MjModel, k: int, prefix: str) -> None:
    skin = spec.add_skin(name=f"{prefix}published_{k}", rgba=model.skin_rgba[k])
    if model.skin_matid[k] >= 0:
        skin.material = f"{prefix}published_{k}"
        _copy_texture(spec, model, skin.material, int(model.skin_matid[k]))
    vertices = slice(model.skin_vertadr[k], model.skin_vertadr[k] + model.skin_vertnum[k])
    faces = slice(model.skin_faceadr[k], model.skin_faceadr[k] + model.skin_facenum[k])
    bones = range(model.skin_boneadr[k], model.skin_boneadr[k] + model.skin_bonenum[k])
    skin.vert, skin.face = model.skin_vert[vertices].ravel(), model.skin_face[faces].ravel()
    if model.skin_texcoordadr[k] >= 0:
        first = model.skin_texcoordadr[k]
        skin.texcoord = model.skin_texcoord[first : first + model.skin_vertnum[k]].ravel()
    skin.bodyname = [prefix + model.body(model.skin_bonebodyid[b]).name for b in bones]
    skin.bindpos = model.skin_bonebindpos[list(bones)].ravel()
    skin.bindquat = model.skin_bonebindquat[list(bones)].ravel()
    parts = [
        slice(model.skin_bonevertadr[b], model.skin_bonevertadr[b] + model.skin_bonevertnum[b])
        for b in bones
    ]
    skin.vertid = [model.skin_bonevertid[part].tolist() for part in parts]
    skin.vertweight = [model.skin_bonevertweight[part].tolist() for part in parts]


def _copy_texture(spec: Spec, model: mujoco.MjModel, name: str, material: int) -> None:
    there = int(model.mat_texid[material, int(mujoco.mjtTextureRole.mjTEXROLE_RGB)])
    height, width = int(model.tex_height[there]), int(model.tex_width[there])
    first, channels = int(model.tex_adr[there]), int(model.tex_nchannel[there])
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture(model.tex_type[there]))
    texture.height, texture.width, texture.nchannel = height, width, channels
    texture.data = model.tex_data[first : first + height * width * channels].tobytes()
    add(spec, "material", name=name, textures=name)


def _add_mesh(
    spec: Spec, model: mujoco.MjModel, data: mujoco.MjData, geom: int, prefix: str
) -> None:
    """Add a mesh as a skin of a single bone, which changes no geoms."""
    mesh, body = int(model.geom_dataid[geom]), int(model.geom_bodyid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    points = model.mesh_vert[first : first + count] @ data.geom_xmat[geom].reshape(3, 3).T
    faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
    skin = spec.add_skin(name=f"{prefix}{model.geom(geom).name}", rgba=model.geom_rgba[geom])
    skin.vert = (points + data.geom_xpos[geom]).ravel()
    skin.face = model.mesh_face[faces].ravel()
    skin.bodyname = [prefix + model.body(body).name]
    skin.bindpos, skin.bindquat = data.xpos[body], data.xquat[body]
    skin.vertid, skin.vertweight = [list(range(count))], [[1.0] * count]


def _plain(spec: Spec, rgba: np.ndarray) -> str:
    name = "published " + " ".join(f"{x:g}" for x in rgba)
    if spec.material(name) is None:
        spec.add_material(name=name, rgba=rgba)
    return name
