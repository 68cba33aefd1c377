from .flit import flits_of as flits_of, simulate_flit as simulate_flit
from .formula.evaluate import (
    Prediction as Prediction,
    ProgramPrediction as ProgramPrediction,
    predict as predict,
    predict_program as predict_program,
    retarget as retarget,
    times_with as times_with,
)
from .load.sweep import (
    LoadCurve as LoadCurve,
    LoadSweep as LoadSweep,
    Window as Window,
    check_loads as check_loads,
    parse_traffic as parse_traffic,
    sweep_load as sweep_load,
)
from .nanoseconds import (
    NS as NS,
    core_execution as core_execution,
    core_messages as core_messages,
    core_rates as core_rates,
    core_stops as core_stops,
)
from .phases_over_time import (
    PARTS as PARTS,
    Switching as Switching,
    SwitchParts as SwitchParts,
    simulated_switches as simulated_switches,
    switching as switching,
)
from .settings import (
    Settings as Settings,
    parse_count as parse_count,
    refuse_policy as refuse_policy,
)
from .table import MODELS as MODELS, find_model as find_model
from .timeline import (
    SUFFIXES as SUFFIXES,
    Record as Record,
    Timeline as Timeline,
    read_record as read_record,
    resource_name as resource_name,
    worth_recording as worth_recording,
    write_timeline as write_timeline,
)
from .trace import read_trace as read_trace
from .usage import (
    BINS as BINS,
    Usage as Usage,
    flowing_from as flowing_from,
    flowing_until as flowing_until,
    least_time as least_time,
    under_way as under_way,
    usage_of as usage_of,
)
from .workload import Workload as Workload
