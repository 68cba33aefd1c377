"""The items of the text, in its order; then what is measured over several of its tables."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (
    ("Table 1", "table_1", ()),
    ("Figure 3", "figure_3", ()),
    ("Contention", "contention", ()),
    ("Table 2", "tables", (2,)),
    ("Table 3", "tables", (3,)),
    ("Table 4", "tables", (4,)),
    ("Table 5", "tables", (5,)),
    ("Table 6", "tables", (6,)),
    ("Fit", "fit", ()),
    ("Simulation", "simulation", ()),
    ("Winners", "winners", ()),
    ("Section 4", "sentences", ()),
    ("Own schedules", "own_schedules", ()),
)
