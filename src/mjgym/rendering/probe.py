"""Script that renders a small image with an OpenGL backend: python probe.py BACKEND.

It prints the driver's description, or the error, as JSON. `backends.probe` runs it in a separate
process, because a broken driver may crash or hang its process.
"""

import importlib
import json
import os
import re
import sys
import warnings

SCENE = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="sphere" size=".5" rgba="1 .5 0 1"/>
  </worldbody>
</mujoco>
"""
SIZE = 32  # pixels


def draw(backend: str) -> dict[str, str]:
    """Render a sphere with a backend of `mujoco` ("egl", ...); returns the driver's description."""
    import mujoco
    import numpy as np

    if backend == "glfw":  # it only warns, for example about a missing display
        warnings.simplefilter("error", importlib.import_module("glfw").GLFWError)
    context = importlib.import_module(f"mujoco.{backend}").GLContext(SIZE, SIZE)
    context.make_current()
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, drawing)
    if drawing.currentBuffer != mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value:
        raise RuntimeError("the driver has no off-screen framebuffers")
    scene = mujoco.MjvScene(model, 10)
    mujoco.mjv_updateScene(
        model,
        data,
        mujoco.MjvOption(),
        None,
        mujoco.MjvCamera(),
        mujoco.mjtCatBit.mjCAT_ALL.value,
        scene,
    )
    picture = np.zeros((SIZE, SIZE, 3), dtype=np.uint8)
    rectangle = mujoco.MjrRect(0, 0, SIZE, SIZE)
    mujoco.mjr_render(rectangle, scene, drawing)
    mujoco.mjr_readPixels(picture, None, rectangle, drawing)
    if picture.min() == picture.max():
        raise RuntimeError("the driver draws nothing")

    GL = importlib.import_module("OpenGL.GL")
    names = {"vendor": GL.GL_VENDOR, "renderer": GL.GL_RENDERER, "version": GL.GL_VERSION}
    return {key: (GL.glGetString(name) or b"").decode() for key, name in names.items()}


def main(backend: str) -> int:
    """Print the result as JSON; the exit code is 1 if rendering fails."""
    try:
        print(json.dumps(draw(backend)), flush=True)
    except Exception as error:
        print(json.dumps({"reason": reason(error)}), flush=True)
        return 1
    return 0


def reason(error: Exception) -> str:
    """The reason of a failure, in one line."""
    message = " ".join(str(error).split()) or "no reason given"
    if "'NoneType' object has no attribute" in message:  # PyOpenGL has found no library
        return f"a library is missing ({message.removeprefix('argument 1: ')})"
    words = re.search(r"b'(.*)'", message)  # GLFW's, from C
    return f"{type(error).__name__}: {words[1] if words else message}"


if __name__ == "__main__":
    # Exit at once: a driver that crashes at exit has still rendered.
    os._exit(main(sys.argv[1]))
