"""Global settings, under the names of `robosuite.macros`.

They are read when an environment is made: `import mjgym_compat.robosuite.macros as macros`, then
`macros.IMAGE_CONVENTION = "opencv"`.
"""

SIMULATION_TIMESTEP = 0.002  # s, of the physics; other values are refused
IMAGE_CONVENTION = "opengl"
"""Row order of pictures: "opengl" begins with the lowest row, "opencv" with the uppermost."""
CONCATENATE_IMAGES = False
"""Whether an observation also has all pictures side by side, along their last axis, as
`image-state`."""
