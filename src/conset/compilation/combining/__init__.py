"""Whether and how small messages are combined."""
