"""Gymnasium's own MuJoCo tasks, version 5: the same numbers, in batches.

| Gymnasium | here |
|---|---|
| a simulation that is no longer finite starts anew and goes on | its episode is truncated |
| `camera_id`, `camera_name` | `camera` |
| `max_geom`, `visual_options` | `show`, `groups` |
"""
