"""Ways to combine small messages: paths along which they travel together."""
