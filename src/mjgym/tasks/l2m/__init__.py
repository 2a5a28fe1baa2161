"""Learn to Move: a human of 22 muscles that walks as a field of target velocities asks for.

It is the competition "Learn to Move: Walk Around" of NeurIPS 2019. `mjgym.tasks.l2m.walk` is the
task and `mjgym.tasks.l2m.skeleton` the model, each with its citations.
"""
