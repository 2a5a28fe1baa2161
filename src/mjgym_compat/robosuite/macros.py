"""Global settings, under the names of `robosuite.macros`.

They are read when an environment is made: `import mjgym_compat.robosuite.macros as macros`, then
`macros.IMAGE_CONVENTION = "opencv"`.
"""

SIMULATION_TIMESTEP = 0.002  # s, of the physics; other values are refused
IMAGE_CONVENTION = "opengl"
"""Row order of images: "opengl" starts with the bottom row, "opencv" with the top row."""
CONCATENATE_IMAGES = False
"""True if observations also have all images side by side, along their last axis, as
`image-state`."""
SPACEMOUSE_VENDOR_ID, SPACEMOUSE_PRODUCT_ID = 9583, 50734
DUALSENSE_VENDOR_ID, DUALSENSE_PRODUCT_ID = 0x054C, 0x0CE6
# Without effect here.
ENABLE_NUMBA = CACHE_NUMBA = MUJOCO_GPU_RENDERING = True
USING_INSTANCE_RANDOMIZATION = False
CONSOLE_LOGGING_LEVEL, FILE_LOGGING_LEVEL = "INFO", None
