"""The items of the text, in its order."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (
    ("Table 1", "table_1", ()),
    ("Table 2", "table_2", ()),
    ("Figure 3", "figure_3", ()),
    ("Figure 4", "figure_4", ()),
    ("Figure 5", "figure_5", ()),
    ("Figure 6", "figure_6", ()),
)
