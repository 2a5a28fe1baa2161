"""The DeepMind Control Suite: a file for each domain.

Tassa et al., "DeepMind Control Suite" (2018); Tunyasuvunakool et al., "dm_control: Software and
tasks for continuous control" (2020).
"""
