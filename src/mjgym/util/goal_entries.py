"""Names of the entries of an observation with goals, as Gymnasium-Robotics has them."""

OBSERVED, ACHIEVED, DESIRED = "observation", "achieved_goal", "desired_goal"
