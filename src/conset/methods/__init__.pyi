from .paths.evaluate import (
    Candidate as Candidate,
    evaluate as evaluate,
    mixed_candidates as mixed_candidates,
)
from .paths.multiphase import (
    box_network as box_network,
    matched_cells as matched_cells,
    multiphase as multiphase,
    node_aware as node_aware,
    radix as radix,
    ranks_on_nodes as ranks_on_nodes,
    virtual_grid as virtual_grid,
    written as written,
)
from .paths.table import parse_combine as parse_combine, paths_of as paths_of
from .phases.bounded import partner_at as partner_at
from .phases.connection_routers.table import (
    ROUTERS as ROUTERS,
    build_router as build_router,
    find_router as find_router,
    route_sequential as route_sequential,
    routed as routed,
)
from .phases.connection_routers.task import Routed as Routed, Task as Task, assemble as assemble
from .phases.event_list import (
    TIMETABLES as TIMETABLES,
    add_timetable as add_timetable,
    find_timetable as find_timetable,
    time_as as time_as,
)
from .phases.given import (
    FaultyMethodError as FaultyMethodError,
    MethodFunction as MethodFunction,
    is_in_file as is_in_file,
)
from .phases.over_planes import folded as folded, schedule_over_planes as schedule_over_planes
from .phases.pairwise_exchange import (
    gen_contention as gen_contention,
    pex_contention as pex_contention,
    text_gen_contention as text_gen_contention,
)
from .phases.problem import (
    Method as Method,
    Objective as Objective,
    Phases as Phases,
    Problem as Problem,
    Routes as Routes,
    SearchOptions as SearchOptions,
    refuse_unknown_routes as refuse_unknown_routes,
)
from .phases.table import (
    LARGE as LARGE,
    ROWS as ROWS,
    all_methods as all_methods,
    find_method as find_method,
    load_method as load_method,
    table as table,
    whose_fault as whose_fault,
)
from .placements.place import (
    AUTO as AUTO,
    PLACEMENTS as PLACEMENTS,
    candidates as candidates,
    place as place,
    require_placement as require_placement,
)
