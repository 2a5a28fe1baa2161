"""Draws one small picture with one OpenGL backend, as a script: python probe.py BACKEND.

It prints as JSON what the driver says about itself, or why there is no picture. `backends.probe`
runs it in a process of its own, because a broken driver may kill or hang the process that it is in.
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
    """Draw a sphere; returns the driver's own description.

    Args:
        backend: a package of `mujoco` with a `GLContext`: "egl", "osmesa", "glfw" or "cgl".

    Raises:
        RuntimeError: there is no context, or the picture is empty.
        Exception: whatever the driver's bindings raise.
    """
    import mujoco
    import numpy as np

    if backend == "glfw":  # it only warns, for example that there is no display
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
    """Print what came of it as JSON; the exit code is 1 if there is no picture."""
    try:
        print(json.dumps(draw(backend)), flush=True)
    except Exception as error:
        print(json.dumps({"reason": reason(error)}), flush=True)
        return 1
    return 0


def reason(error: Exception) -> str:
    """Why there is no picture, in one line."""
    message = " ".join(str(error).split()) or "no reason given"
    if "'NoneType' object has no attribute" in message:  # PyOpenGL has found no library
        return f"a library is missing ({message.removeprefix('argument 1: ')})"
    words = re.search(r"b'(.*)'", message)  # GLFW's, from C
    return f"{type(error).__name__}: {words[1] if words else message}"


if __name__ == "__main__":
    # At once: a driver that fails while it is put away has drawn all the same.
    os._exit(main(sys.argv[1]))
