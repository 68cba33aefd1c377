from .generators.table import COMMON as COMMON, GENERATORS as GENERATORS
from .layout import (
    LAYOUT_SUFFIX as LAYOUT_SUFFIX,
    Layout as Layout,
    Partition as Partition,
    read_layout as read_layout,
)
from .pattern import Pattern as Pattern, find_cycle as find_cycle
from .readers.columns import columns_of as columns_of
from .readers.demands import read_bandwidths as read_bandwidths, read_latencies as read_latencies
from .readers.halo import shared_layout as shared_layout
from .readers.partition import (
    Cells as Cells,
    dual_graph as dual_graph,
    partition_graph as partition_graph,
)
from .readers.records import (
    Record as Record,
    RecordedExchange as RecordedExchange,
    is_record as is_record,
    ranges_text as ranges_text,
    read_mpi_record as read_mpi_record,
)
from .readers.table import READERS as READERS
from .spec import (
    input_path as input_path,
    parse_partition as parse_partition,
    parse_pattern as parse_pattern,
    split_options as split_options,
)
