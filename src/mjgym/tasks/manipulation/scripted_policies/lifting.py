"""Scripted policy of LiftBrick."""

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import at_height
from mjgym.tasks.manipulation.arm_scene import Scene
from mjgym.tasks.manipulation.scripted_policies.brick_grasp import HELD, Brick, grasp
from mjgym.tasks.manipulation.scripted_policies.velocity_arm import Hand, velocity_arm

HIGH = 0.36  # m, over the work top, final height of the brick


def lift_brick(task: Scene, name: str) -> StagedPolicy:
    """Grasp a brick by its long sides and lift it."""

    def stages(observation: Observation, hand: Hand) -> list[Stage]:
        brick = Brick.named(name, observation, hand)
        place, turn = brick.grip()
        carry = Stage(at_height(hand.position, HIGH), CLOSE, turn, lost=brick.lost)
        return [*grasp(hand, place, turn), carry]

    return StagedPolicy(velocity_arm(task, HELD), stages)
