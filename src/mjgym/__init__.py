"""A Gymnasium-native registry of MuJoCo control tasks; importing it registers the ids."""

from mjgym import registry, variation
from mjgym.env import Env
from mjgym.episode import DivergenceError
from mjgym.fingerprint import fingerprint
from mjgym.observables import Observable, observe
from mjgym.task import Action, Task, register
from mjgym.vector import VectorEnv

__version__ = "0.1.0"

__all__ = [
    "Action",
    "DivergenceError",
    "Env",
    "Observable",
    "Task",
    "VectorEnv",
    "__version__",
    "fingerprint",
    "observe",
    "register",
    "registry",
    "variation",
]
