"""The items of the text, in its order, then its claims by subject and what is compiled today."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (
    ("Table 1", "table_basic", (1,)),
    ("Table 2", "table_basic", (2,)),
    ("Table 3", "table_basic", (3,)),
    ("Figure 2", "figure_bandwidth", (2,)),
    ("Figure 3", "figure_bandwidth", (3,)),
    ("Figure 4", "figure_bandwidth", (4,)),
    ("Table 4", "table_4", ()),
    ("Figure 5", "figure_5", ()),
    ("Table 5", "table_5", ()),
    ("Table 6", "table_6", ()),
    ("Figure 6", "figure_6", ()),
    ("Surface router", "surface_router", ()),
    ("Message passing", "in_flight", ()),
    ("Schedules of today", "today", ()),
)
