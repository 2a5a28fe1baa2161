"""Control laws from action to joint torques: pure functions on arrays with any leading shape."""

from mjgym.controllers.chain import Chain
from mjgym.controllers.composite import Composite
from mjgym.controllers.controller import Controller, State, controllers, make
from mjgym.controllers.differential_inverse_kinematics import (
    InverseKinematicsPose,
    InverseKinematicsWholeBody,
)
from mjgym.controllers.joint import JointPosition, JointTorque, JointVelocity
from mjgym.controllers.operational_space import OperationalSpacePose, OperationalSpacePosition

__all__ = [
    "Chain",
    "Composite",
    "Controller",
    "InverseKinematicsPose",
    "InverseKinematicsWholeBody",
    "JointPosition",
    "JointTorque",
    "JointVelocity",
    "OperationalSpacePose",
    "OperationalSpacePosition",
    "State",
    "controllers",
    "make",
]
