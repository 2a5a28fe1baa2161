"""The models in the installed Gymnasium, held to the files that were tested."""

import hashlib
import warnings
from pathlib import Path

from mjgym import mjcf
from mjgym.sim.engine import quiet
from mjgym.util.packaged import package_folder
from mjgym.util.suggestions import or_else

# SHA-256 of the files in Gymnasium 1.2 to 1.4.
TESTED = {
    "ant.xml": "cd5f83ef0ea35b0969e65d360c5bacd5b74ccaef6b27e4433b5168c605e3e2be",
    "half_cheetah.xml": "11797a5d69e8ac955e89ca6fdd3a0087f1c990094fda401ac51420de1b6c5494",
    "hopper.xml": "3ce93a055ffdcd83c0c701d2400768e40d2cbb9532f3c4ae33377c27f8b39f9e",
    "humanoid.xml": "85816f372c826d2094b4a598918233bd9c5843b2439119eece2733bdc2e0d073",
    "humanoidstandup.xml": "9f72a3c4ef956d0d8b1fb555a6ae1a5c22334c5c58cf814ef987ea4d3880e8fc",
    "inverted_double_pendulum.xml": (
        "2b4eadf03bd79a8772abd4c1a626b5755747f841801a694ea9528cc49211ba46"
    ),
    "inverted_pendulum.xml": "80910a9af85cd47072be82d6f92c5e6a115d0eecc3eb464e58542b285c89fb7f",
    "pusher_v5.xml": "3c9a717f6d2cecd555ab9b78694dba71019fa233230c68c8197ebb07d6713879",
    "reacher.xml": "3fabc64fc738326485a8231a9a649f784090a0c3d8215f8d2ccd6038b8e60cc4",
    "swimmer.xml": "25b0d46bf5522920fea6a579353aee39d391ad9e2a0574b53f83704c11b21b12",
    "walker2d_v5.xml": "6bed53a6cc3ca73c4fe8ac3486d3b4228927264a6454f4ef16d3eed3c58bc09d",
}


def load(xml_file: str) -> mjcf.Spec:
    """Load a model as Gymnasium's `xml_file` names it.

    Warns if one of Gymnasium's files is not the one that was tested.

    Args:
        xml_file: a file of Gymnasium's, e.g. "ant.xml", or a path that begins with "/", "." or "~".

    Raises:
        FileNotFoundError: there is no such file; the message names the nearest ones.
        ValueError: the engine refuses the file, see `mjgym.mjcf.load`.
    """
    if xml_file.startswith(("/", ".", "~")):
        return _with_masses(mjcf.load(Path(xml_file).expanduser()))
    folder = package_folder("gymnasium") / "envs" / "mujoco" / "assets"
    path = folder / xml_file
    if not path.is_file():
        files = sorted(file.name for file in folder.glob("*.xml"))
        lacking = "; this version of Gymnasium lacks it" if xml_file in TESTED else ""
        raise FileNotFoundError(
            f"xml_file: no {xml_file!r} in {folder}{lacking}{or_else(xml_file, files)}"
        )
    tested = TESTED.get(xml_file)
    if tested is not None and hashlib.sha256(path.read_bytes()).hexdigest() != tested:
        warnings.warn(
            f"{xml_file} of the installed Gymnasium is not the file that was tested: numbers may"
            " differ from those of the published task",
            stacklevel=2,
        )
    return _with_masses(mjcf.load(path))


def _with_masses(spec: mjcf.Spec) -> mjcf.Spec:
    """A model with the masses and inertias that its `settotalmass` gives, to the bit.

    The engine warns of that attribute in every compilation.
    """
    if spec.compiler.settotalmass <= 0:
        return spec
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mjcf.without_textures(spec).compile()
    for i, body in enumerate(spec.bodies[1:], 1):
        body.explicitinertial = True
        for name in ("mass", "ipos", "iquat", "inertia"):
            setattr(body, name, getattr(model, f"body_{name}")[i])
    spec.compiler.settotalmass = -1
    spec.compiler.inertiafromgeom = False
    return spec
