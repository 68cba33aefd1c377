"""Networks in words: one file a family, the table of all in `table.py`."""
