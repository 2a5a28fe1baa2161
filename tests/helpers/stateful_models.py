"""Small models, each with something that MuJoCo remembers from step to step."""

from dataclasses import dataclass

from mjgym import Task
from mjgym.mjcf import Spec

_WHOLE = """<mujoco><compiler angle="radian"/><option timestep="0.004" {options}>{flags}</option>
<size nuserdata="2"/>
<worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody>{sections}</mujoco>"""
_ARM = """<body pos="0 0 1"><joint name="arm" axis="0 1 0" damping=".1" {}/>
<geom size=".05" pos=".3 0 0"/></body>"""
_BALL = '<body pos=".2 .2 .06"><freejoint/><geom size=".06"/></body>'
_BOXES = """<body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
<body pos=".05 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>"""
_HAND = """<body name="hand" mocap="true" pos=".3 0 .3"><geom size=".05" contype="0"/></body>
<body name="held" pos=".3 0 .3"><freejoint/><geom size=".04"/></body>"""
_CLOTH = """<flexcomp name="cloth" type="grid" dim="2" count="5 5 1" spacing=".1 .1 .1" mass="1"
radius=".01" pos="0 0 .2">{}</flexcomp>"""
_ELASTIC = '<elasticity young="3e3" poisson=".2" thickness="1e-2" elastic2d="both"/>'


def _model(bodies: str, sections: str = "", options: str = "", flags: str = "") -> str:
    return _WHOLE.format(bodies=bodies, sections=sections, options=options, flags=flags)


def _driven(actuators: str, joint: str = "", **options: str) -> str:
    return _model(_ARM.format(joint), f"<actuator>{actuators}</actuator>", **options)


MODELS = {
    "motor": _driven('<motor joint="arm" gear="4"/>'),
    "Runge-Kutta": _driven('<motor joint="arm"/>', options='integrator="RK4"'),
    "contacts": _model(_BOXES),
    "no islands": _model(_BOXES, flags='<flag island="disable"/>'),
    "PGS": _model(_BOXES, options='solver="PGS" iterations="5" noslip_iterations="2"'),
    "CG": _model(_BOXES, options='solver="CG" iterations="3" cone="elliptic"'),
    "activations": _driven("""<general joint="arm" dyntype="filter" dynprm=".1" gear="4"/>
        <pid joint="arm" kp="2" kv="1" ki="1" slewmax="1"/>"""),
    "DC motor": _driven('<dcmotor joint="arm" motorconst="1" resistance="2" inductance=".1 0"/>'),
    "delays": _model(_ARM.format(""), """
        <actuator><motor joint="arm" gear="4" delay=".02" nsample="6"/></actuator>
        <sensor><jointpos joint="arm" delay=".02" nsample="6"/><clock/></sensor>"""),
    "plastic joint": _driven('<motor joint="arm" gear="4"/>', 'stiffness="5" springyield=".1"'),
    "mocap": _model(_HAND, '<equality><weld body1="hand" body2="held"/></equality>'),
    "switched": _model(
        _ARM.format(""), '<equality><joint joint1="arm" active="false"/></equality>'
    ),
    "rope net": _model(_BALL + _CLOTH.format('<edge equality="true" damping=".01"/>')),
    "cloth": _model(_BALL + _CLOTH.format(_ELASTIC), options='integrator="discrete"'),
    "IPC": _model(
        _BALL + _CLOTH.format(_ELASTIC),
        options='integrator="discrete"',
        flags='<flag ipc="enable"/>',
    ),
}  # fmt: skip
"""MJCF texts by what they have."""


@dataclass(frozen=True)
class Remembering(Task):
    """Move at random. Reward: near 1 close to zero. Start: moving. Observation: `qpos`."""

    has: str = "motor"

    time_limit, control_timestep = 5.0, 0.02

    def model(self):
        return Spec.from_string(MODELS[self.has])

    def initialize(self, v, rng):
        v.qvel[:] = rng.normal(0, 0.3, v.qvel.shape)
        drive(v._data, rng)

    def observation(self, v):
        return {"qpos": v.qpos, "sensors": v.sensordata}

    def terms(self, v):
        return {"near": v.xp.exp(-(v.qpos[..., 0] ** 2))}


def drive(data, rng):
    """Draw everything that a user may set."""
    data.userdata[:] = rng.normal(size=data.userdata.shape)
    data.qfrc_applied[:] = rng.normal(0, 0.01, data.qfrc_applied.shape)
    data.xfrc_applied[1:] = rng.normal(0, 0.01, data.xfrc_applied[1:].shape)
    data.mocap_pos[:] += rng.normal(0, 0.01, data.mocap_pos.shape)
    data.mocap_quat[:] += rng.normal(0, 0.1, data.mocap_quat.shape)
    data.eq_active[:] = True
    data.ctrl[:] = rng.uniform(0.5, 1, data.ctrl.shape)
