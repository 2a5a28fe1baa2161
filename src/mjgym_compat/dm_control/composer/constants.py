"""Numbers that entities share."""

SENSOR_SITES_GROUP = 4  # group of the sites of sensors, which is not drawn by default
