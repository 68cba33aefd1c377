"""Run time: schedules made inside the program that uses them, and what that costs."""
