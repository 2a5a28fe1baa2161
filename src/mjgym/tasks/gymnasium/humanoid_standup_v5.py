"""Gymnasium's HumanoidStandup: get a human-like creature to stand up."""

from dataclasses import dataclass
from typing import ClassVar

from mjgym.sim import View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS
from mjgym.tasks.gymnasium.humanoid_v5 import HumanoidBody, Z


@register("gymnasium/HumanoidStandup-v5", "Stand up from the ground.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class HumanoidStandup(HumanoidBody):
    """Stand up from the ground (Tassa et al., 2012), as in Gymnasium's HumanoidStandup-v5.

    Reward: 1, `reward_linup`, the torso's height over the physics timestep (m/s), `reward_quadctrl`
    and `reward_impact`, the negative sums of the squares of the controls and of the contact forces,
    times their weights, the latter within its range.

    Start: positions and velocities uniform about the model's, lying, within the noise scale.
    """

    uph_cost_weight: float = 1.0  # without effect, as in Gymnasium
    impact_cost_weight: float = 0.5e-6
    impact_cost_range: tuple[float, float] = (-float("inf"), 10.0)

    xml_file: str = "humanoidstandup.xml"

    reported = (
        *HumanoidBody.reported,
        "z_distance_from_origin",
        "reward_linup",
        "reward_quadctrl",
        "reward_impact",
    )
    usual_camera: ClassVar[Viewpoint] = Viewpoint(elevation=-30.0, distance=1.5, bodies=("pelvis",))

    def places(self, v: View) -> Arrays:
        rise = v.qpos[..., Z] - float(v.model.qpos0[Z])
        return {**super().places(v), "z_distance_from_origin": rise}

    def terms(self, v: View) -> Arrays:
        impact = self.contact_cost(v, self.impact_cost_weight, self.impact_cost_range)
        return {
            "reward_linup": v.qpos[..., Z] / float(v.model.opt.timestep),
            "reward_quadctrl": -self.ctrl_cost_weight * v.xp.sum(v.xp.square(v.ctrl), axis=-1),
            "reward_impact": -impact,
        }

    def reward(self, terms: Arrays) -> Array:
        return terms["reward_linup"] + terms["reward_quadctrl"] + terms["reward_impact"] + 1.0
