from .cables import (
    back_of as back_of,
    cable_name as cable_name,
    usual_rates as usual_rates,
    without_cable as without_cable,
    without_each as without_each,
)
from .circuits import (
    CircuitState as CircuitState,
    CircuitTimes as CircuitTimes,
    circuit_times as circuit_times,
    planes_of_links as planes_of_links,
)
from .cluster import is_cluster as is_cluster
from .costs import (
    GUESSED as GUESSED,
    MAX_BLOCKING as MAX_BLOCKING,
    MAX_LIMIT as MAX_LIMIT,
    MAX_WITHIN as MAX_WITHIN,
    Costs as Costs,
    Limits as Limits,
    Steps as Steps,
    Synchronization as Synchronization,
    without_switches as without_switches,
)
from .file import (
    PRESETS as PRESETS,
    TEXTS as TEXTS,
    TODAY as TODAY,
    Preset as Preset,
    machine_from_object as machine_from_object,
    preset as preset,
)
from .flat_file import SUFFIX as SUFFIX, write_machine as write_machine
from .hosts import (
    LAUNCHER_FILES as LAUNCHER_FILES,
    read_hosts as read_hosts,
    write_hosts as write_hosts,
)
from .machine import Machine as Machine, with_computation as with_computation
from .network.families import (
    FAMILIES as FAMILIES,
    family_names as family_names,
    find_family as find_family,
    is_family as is_family,
)
from .network.family import SWITCHED as SWITCHED, read_sizes as read_sizes
from .network.routes import (
    core_network as core_network,
    core_widths as core_widths,
    links_in_plane as links_in_plane,
    links_of_nodes as links_of_nodes,
    plane_by_rule as plane_by_rule,
    plane_routes as plane_routes,
    route_hops as route_hops,
    route_links as route_links,
    route_nodes as route_nodes,
    route_stops as route_stops,
    stops_of_links as stops_of_links,
)
from .network.routing import (
    Routing as Routing,
    datelines as datelines,
    is_tree as is_tree,
    usable_ends as usable_ends,
)
from .network.topology import Topology as Topology
from .spec import (
    FILE_SUFFIXES as FILE_SUFFIXES,
    is_spec as is_spec,
    machine_names as machine_names,
    machine_of_record as machine_of_record,
    machine_of_topology as machine_of_topology,
    merge_settings as merge_settings,
    parse_machine as parse_machine,
    with_settings as with_settings,
)
from .times import (
    NO_LINKS as NO_LINKS,
    Work as Work,
    link_rates as link_rates,
    link_work as link_work,
    message_costs as message_costs,
    message_times as message_times,
    plain_sizes as plain_sizes,
    profile_phases as profile_phases,
    slowest_rates as slowest_rates,
    synchronization_s as synchronization_s,
    transfer_s as transfer_s,
    transfer_times as transfer_times,
    work_of as work_of,
)
from .words import (
    PARAMETERS as PARAMETERS,
    USUAL_OVERHEAD as USUAL_OVERHEAD,
    default_costs as default_costs,
    group_of as group_of,
    listed as listed,
    plain as plain,
    redrawn as redrawn,
    unsure as unsure,
)
