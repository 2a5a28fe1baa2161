"""Global settings, under the names of `robosuite.macros`.

They are read when an environment is made: `import mjgym_compat.robosuite.macros as macros`, then
`macros.IMAGE_CONVENTION = "opencv"`.
"""

SIMULATION_TIMESTEP = 0.002  # s, of the physics; other values are refused
IMAGE_CONVENTION = "opengl"
"""Row order of images: "opengl" starts with the bottom row, "opencv" with the top row."""
CONCATENATE_IMAGES = False
"""Whether observations also have all images side by side, along their last axis, as
`image-state`."""
