"""The published tasks of locomotion, each built by a function."""
