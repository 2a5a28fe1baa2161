"""What a user's own package may look like: a walker and an arena of the locomotion family."""
