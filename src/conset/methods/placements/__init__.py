"""Where ranks live: `place(name or file, pattern=…, topology=…)` gives the node of each rank."""
