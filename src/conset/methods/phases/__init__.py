"""Methods that cut a pattern into phases."""
