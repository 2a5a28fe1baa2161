"""Dimensions of the suite's tasks in the papers, and reasons for differences in code.

|S| counts degrees of freedom twice and activations once, |A| actions, |O| numbers of an observation
(Tassa et al., 2018, section 6; Tunyasuvunakool et al., 2020, section 6.3).
"""

PRINTED: dict[str, tuple[int, int, int]] = {
    "acrobot": (4, 1, 6),
    "ball_in_cup": (8, 2, 8),
    "cartpole": (4, 1, 5),
    "cartpole-two_poles": (6, 1, 8),
    "cartpole-three_poles": (8, 1, 11),
    "cheetah": (18, 6, 17),
    "dog": (158, 38, 227),
    "finger": (6, 2, 12),
    "fish": (26, 5, 24),
    "hopper": (14, 4, 15),
    "humanoid": (54, 21, 67),
    "humanoid_CMU": (124, 56, 137),
    "lqr-lqr_2_1": (4, 1, 4),
    "lqr-lqr_6_2": (12, 2, 12),
    "manipulator": (22, 5, 37),
    "pendulum": (2, 1, 3),
    "point_mass": (4, 2, 4),
    "quadruped": (56, 12, 58),
    "reacher": (4, 2, 7),
    "stacker-stack_2": (28, 5, 48),
    "stacker-stack_4": (40, 5, 70),
    "swimmer-swimmer6": (16, 5, 25),
    "swimmer-swimmer15": (34, 14, 61),
    "walker": (18, 6, 24),
}
"""By domain, or by domain and task where a domain's tasks differ."""

REASONS = {
    "dog": "the published code observes 223, and its state has 38 activations",
    "dog-fetch": "as the other dogs; the ball adds 12 to the state and 9 to the observation",
    "finger-spin": "without the target, which this task lacks",
    "fish-upright": "without the target, which this task lacks",
    "humanoid-run_pure_state": "positions and velocities only",
    "manipulator": "the published code observes 44",
    "quadruped": "the published code observes 78",
    "quadruped-escape": "the published code observes 101: 78, the origin and 20 rangefinders",
    "quadruped-fetch": "the published code observes 90; the ball adds 12 to the state",
    "reacher": "the published code observes 6",
    "stacker": "the published code observes 49 and 63",
}
"""Why |S| or |O| differs, by domain or by domain and task."""
