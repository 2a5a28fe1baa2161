"""Selections of the CMU database."""

from mjgym_compat.dm_control.locomotion.tasks.reference_pose.datasets import DATASETS

CMU_SUBSETS_DICT = DATASETS
