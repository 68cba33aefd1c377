"""The files of schedules and programs."""
