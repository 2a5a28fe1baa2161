"""Rendering of simulations: OpenGL backends, looks and cameras."""

from mjgym.rendering.backends import Probe, RenderingError, candidates, choose, probe
from mjgym.rendering.looks import QUALITIES, colour_by_reward, dressed
from mjgym.rendering.renderer import Renderer
from mjgym.rendering.studio import KINDS, Shot
from mjgym.rendering.twin import Camera

__all__ = [
    "KINDS",
    "QUALITIES",
    "Camera",
    "Probe",
    "Renderer",
    "RenderingError",
    "Shot",
    "candidates",
    "choose",
    "colour_by_reward",
    "dressed",
    "probe",
]
