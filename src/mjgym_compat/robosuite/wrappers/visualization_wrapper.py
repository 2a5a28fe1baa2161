"""Visualization sites, shown after each step."""

from typing import Any

from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.wrappers.wrapper import Wrapper


class VisualizationWrapper(Wrapper):
    """Show the sites of the environment, the robots and the grippers.

    Args:
        env: of `make`, without `camera_segmentations`.
        indicator_configs: None, since indicators are not supported.

    Raises:
        ValueError: the environment has segmentations, or indicators are requested.
    """

    def __init__(self, env: Any, indicator_configs: Any = None) -> None:
        super().__init__(env)
        if any(env.camera_segmentations):
            raise ValueError("VisualizationWrapper: not together with camera_segmentations")
        if indicator_configs is not None:
            raise ValueError(
                "indicator_configs: only None here, as a model's structure stays what it is; put"
                " sites into the scene of a task of your own, or draw on the pictures"
            )
        self._settings = dict.fromkeys(sorted(env._visualizations), True)
        self.reset()

    def get_visualization_settings(self) -> list[str]:
        return list(self._settings)

    def set_visualization_setting(self, setting: str, visible: bool) -> None:
        """Show or hide a kind of sites.

        Raises:
            ValueError: there is no such kind.
        """
        if setting not in self._settings:
            raise ValueError(f"setting: no {setting!r}{or_else(setting, self._settings)}")
        self._settings[setting] = visible

    def reset(self) -> Any:
        """Start an episode; returns its observation."""
        observation = self.env.reset()
        self.env.visualize(vis_settings=self._settings)
        return observation

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        self.env.visualize(vis_settings=self._settings)
        return result
