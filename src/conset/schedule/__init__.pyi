from .document import MAX_REPEAT as MAX_REPEAT, AnyDocument as AnyDocument, Document as Document
from .files.arrays import check_length as check_length, check_within as check_within
from .files.compiled import (
    document_of as document_of,
    from_document as from_document,
    read_compiled as read_compiled,
    require_writable as require_writable,
    write_compiled as write_compiled,
)
from .files.documents import named as named, read_document as read_document
from .files.exports import (
    EXPORTS as EXPORTS,
    not_held as not_held,
    why_no_platform as why_no_platform,
    write_export as write_export,
)
from .files.keys import TimelineFile as TimelineFile, checked as checked
from .files.sniff import (
    SCHEDULE as SCHEDULE,
    TIMELINE as TIMELINE,
    require_form as require_form,
    sniff as sniff,
)
from .linkage import (
    GATE as GATE,
    Connections as Connections,
    Guarantees as Guarantees,
    Ids as Ids,
    LinkageTable as LinkageTable,
    guarantees as guarantees,
    link_channels as link_channels,
    number_channels as number_channels,
    program_guarantees as program_guarantees,
)
from .loads import (
    chosen_links as chosen_links,
    circuits_of as circuits_of,
    figures as figures,
    largest_sizes as largest_sizes,
    loads_list as loads_list,
    order_messages as order_messages,
    phase_loads as phase_loads,
    transfer_links as transfer_links,
)
from .paths import (
    MAX_STAGES as MAX_STAGES,
    NO_POSITIONS as NO_POSITIONS,
    Box as Box,
    Bundles as Bundles,
    Paths as Paths,
    direct as direct,
)
from .policy import (
    KINDS as KINDS,
    MAX_IN_FLIGHT as MAX_IN_FLIGHT,
    ORDERS as ORDERS,
    POSTINGS as POSTINGS,
    InFlight as InFlight,
    Kind as Kind,
    Sync as Sync,
    depths as depths,
    depths_in_graph as depths_in_graph,
    most_posted as most_posted,
    order_of_transfers as order_of_transfers,
    parse_sync as parse_sync,
)
from .program import (
    Program as Program,
    Stage as Stage,
    block_ends as block_ends,
    bundles_of as bundles_of,
    chained as chained,
    unchained as unchained,
)
from .schedule import (
    Compiled as Compiled,
    CompileReport as CompileReport,
    Manifest as Manifest,
    Schedule as Schedule,
    as_routes as as_routes,
    routes_of as routes_of,
    sha256_of as sha256_of,
)
