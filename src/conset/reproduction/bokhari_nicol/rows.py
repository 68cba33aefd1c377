"""The items of the text, in its order."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (
    ("Table 1", "table_1", ()),
    ("Table 2", "table_2", ()),
)
