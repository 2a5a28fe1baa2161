"""Scripted policies that solve tabletop tasks through the actions of OSC_POSE.

    policy = env.unwrapped.task.scripted_policy()
    observation, info = env.reset()           # of an environment with observation="dict"
    while not info.get("success"): observation, _, _, _, info = env.step(policy(observation))

A policy is a sequence of stages. In each, the tools move to poses computed from the observation,
with their fingers open or closed; the next stage begins on arrival. One policy drives a single
environment or, with the observation of a vector environment, all sub-environments.
"""
