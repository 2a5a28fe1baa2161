"""The device of the tests of MuJoCo Warp: the CPU, or that of `MJGYM_WARP_DEVICE`."""

import os

DEVICE = os.environ.get("MJGYM_WARP_DEVICE", "cpu")  # "cuda" on a machine with a GPU
KIND = DEVICE.partition(":")[0]
