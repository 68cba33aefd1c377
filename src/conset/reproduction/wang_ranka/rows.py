"""The items of the text, in its order; what stands in its words only has a name of ours."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (
    ("Permutations", "permutations", ()),
    ("Borders", "borders", ()),
    ("Figure 5", "figure_5", ()),
    ("Figure 6", "figures_6_to_9", (6,)),
    ("Figure 7", "figures_6_to_9", (7,)),
    ("Figure 8", "figures_6_to_9", (8,)),
    ("Figure 9", "figures_6_to_9", (9,)),
    ("Figure 10", "figures_10_and_11", (10,)),
    ("Figure 11", "figures_10_and_11", (11,)),
    ("Section 6", "section_6", ()),
    ("Section 7", "section_7", ()),
)
