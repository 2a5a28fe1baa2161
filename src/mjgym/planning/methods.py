"""The planning methods by name: a new one is a class and a line here."""

from mjgym.planning.ilqg import ILQG
from mjgym.planning.sampling import CrossEntropy, PathIntegral, PredictiveSampling, RandomShooting

METHODS = {
    "random_shooting": RandomShooting,
    "predictive_sampling": PredictiveSampling,
    "cem": CrossEntropy,
    "mppi": PathIntegral,
    "ilqg": ILQG,
}
