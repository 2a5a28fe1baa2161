"""Laws that turn an action into joint torques: pure functions on arrays with any leading shape."""
