"""Tabletop tasks for one and two arms, as robosuite publishes them, one file each.

Y. Zhu et al., "robosuite: A modular simulation framework and benchmark for robot learning" (2020,
arXiv 2009.12293). `mjgym.tasks.robosuite.tabletop` describes their common parts and differences.
"""
