"""Tools that describe, check, fingerprint and time tasks and environments."""
