"""The items of the text, in its order."""

ROWS: tuple[tuple[str, str, tuple[str | int, ...]], ...] = (("Table 2", "table_2", ()),)
