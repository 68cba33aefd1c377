"""Every table, figure and claim of the four texts, made again, with the error beside each."""

from conset_papers.item import Basis, Cell, Claim, Item, Table
from conset_papers.table import PAPERS, Row, find_rows, table

__all__ = ["PAPERS", "Basis", "Cell", "Claim", "Item", "Row", "Table", "find_rows", "table"]
