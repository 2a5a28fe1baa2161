"""Gymnasium's Ant: get a four-legged creature to run."""

from dataclasses import dataclass, field
from typing import ClassVar

from mjgym import mjcf
from mjgym.sim import View
from mjgym.task import Array, Arrays, Signal, Viewpoint, register
from mjgym.tasks.gymnasium.body_labels import body_labels
from mjgym.tasks.gymnasium.forward_task import TRACK, HealthyTask
from mjgym.tasks.gymnasium.gymnasium_task import OPTIONS, TAGS
from mjgym.util.values import whole_number

Z = 2  # position of the root


@register("gymnasium/Ant-v5", "Run to the right on four legs.", TAGS, options=OPTIONS)
@dataclass(frozen=True, kw_only=True)
class Ant(HealthyTask):
    """Run to the right (Schulman et al., 2015), as in Gymnasium's Ant-v5.

    Reward: `reward_forward`, the main body's velocity along x (m/s), `reward_survive`, 1 while
    healthy, `reward_ctrl`, the negative sum of the squares of the actions, and `reward_contact`,
    that of the contact forces, within their range; each times its weight. Healthy: the torso's
    height is within its range; else the episode ends.

    Start: positions uniform about the model's, velocities normal, both with the noise scale.

    Observation: `qpos`, height (m) and quaternion of the torso, then the joints (rad); `qvel`, the
    torso's velocity (m/s) and spin (rad/s), then of the joints (rad/s); `cfrc_ext`, torque (N m)
    and force (N) of contacts on each body, about its tree's centre of mass, within their range.
    """

    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    main_body: int | str = 1  # whose place counts: a name, or a number; 1 is the torso
    healthy_z_range: tuple[float, float] = (0.2, 1.0)  # m
    contact_force_range: tuple[float, float] = (-1.0, 1.0)  # N, N m
    reset_noise_scale: float = 0.1
    include_cfrc_ext_in_observation: bool = True

    xml_file: str = "ant.xml"
    frame_skip: int = 5  # physics steps of 0.01 s

    time_limit: float = 50.0  # s: 1000 control steps
    control_timestep: float = field(default=0.05, init=False)  # s

    normal_velocities = True
    axes = ("x", "y")
    reported = (*HealthyTask.reported, *TRACK, "reward_contact")
    usual_camera: ClassVar[Viewpoint] = Viewpoint(elevation=-30.0, distance=2.5, bodies=("torso",))

    def model(self) -> mjcf.Spec:
        spec = super().model()
        if isinstance(self.main_body, int):
            whole_number("main_body", self.main_body, least=0, most=len(spec.bodies) - 1)
        return spec

    def place(self, v: View) -> Array:
        body = self.main_body
        xpos = v.xpos[..., body, :] if isinstance(body, int) else v.body(body).xpos
        return xpos[..., :2]

    def observation(self, v: View) -> Arrays:
        entries = super().observation(v)
        if self.include_cfrc_ext_in_observation:
            entries["cfrc_ext"] = self.contact_forces(v)[..., 1:, :]  # all but the world's
        return entries

    def contact_forces(self, v: View) -> Array:
        return v.xp.clip(v.cfrc_ext, *self.contact_force_range)

    def terms(self, v: View) -> Arrays:
        squares = v.xp.sum(v.xp.square(self.contact_forces(v)), axis=(-2, -1))
        return {**super().terms(v), "reward_contact": -(self.contact_cost_weight * squares)}

    def reward(self, terms: Arrays) -> Array:
        costs = terms["reward_ctrl"] + terms["reward_contact"]
        return (terms["reward_forward"] + terms["reward_survive"]) + costs

    def healthy(self, v: View) -> Array:
        low, high = self.healthy_z_range
        return (low <= v.qpos[..., Z]) & (v.qpos[..., Z] <= high)

    def labels(self, v: View) -> dict[str, Signal]:
        if not self.include_cfrc_ext_in_observation:
            return {}
        return {"cfrc_ext": body_labels(v)["cfrc_ext"]}
