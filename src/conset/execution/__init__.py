"""Do it: what each rank executes, and its execution over MPI beside what MPI does by itself."""
