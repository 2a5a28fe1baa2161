"""The names of the entries of a goal observation, as in Gymnasium-Robotics."""

OBSERVED, ACHIEVED, DESIRED = "observation", "achieved_goal", "desired_goal"
