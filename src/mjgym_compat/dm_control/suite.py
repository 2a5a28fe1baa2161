"""The interface of the Control Suite: `suite.load("cartpole", "swingup")`."""

import mjgym_compat.dm_env as _adapter

ALL_TASKS, TASKS_BY_DOMAIN = _adapter.ALL_TASKS, _adapter.TASKS_BY_DOMAIN
BENCHMARKING, EXTRA = _adapter.BENCHMARKING, _adapter.EXTRA
EASY, HARD = _adapter.EASY, _adapter.HARD
REWARD_VIZ, NO_REWARD_VIZ = _adapter.REWARD_VIZ, _adapter.NO_REWARD_VIZ
load = _adapter.load
