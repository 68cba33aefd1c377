"""The items of the text, in its order."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (
    ("Table 1", "table_1", ()),
    ("Table 2", "table_2", ()),
    ("Figure 3", "figure_3", ()),
    ("Figure 4", "figure_4", ()),
    ("Figure 5", "figure_5", ()),
    ("Figure 6", "figure_6", ()),
    ("Figure 7", "surfaces", (4,)),
    ("Figure 8", "surfaces", (8,)),
    ("Figure 9", "surfaces", (12,)),
    ("Figure 10", "surfaces", (16,)),
    ("Figure 11", "figure_11", ()),
    ("Figure 12", "slices", (4,)),
    ("Figure 13", "slices", (8,)),
    ("Figure 14", "slices", (12,)),
    ("Figure 15", "slices", (16,)),
    ("Assumptions", "assumptions", ()),
    ("Synchronization", "synchronization", ()),
)
