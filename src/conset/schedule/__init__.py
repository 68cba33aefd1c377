"""The result: schedules, their files, loads and policies."""
