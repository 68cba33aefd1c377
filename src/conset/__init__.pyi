from .api import (
    advise as advise,
    bound as bound,
    compare as compare,
    compile as compile,
    guarantees as guarantees,
    plan as plan,
    predict as predict,
    read as read,
    run as run,
    run_at_run_time as run_at_run_time,
    simulate as simulate,
    verify as verify,
    write as write,
)
from .base.errors import (
    ArgumentError as ArgumentError,
    ConsetError as ConsetError,
    ExecutionError as ExecutionError,
    InputError as InputError,
    MissingExtraError as MissingExtraError,
    NoScheduleError as NoScheduleError,
    UsageError as UsageError,
    VerificationError as VerificationError,
)
from .bounds.bounds import Bounds as Bounds
from .execution.connection_entries import program_open as program_open
from .execution.exchange import CommPlan as CommPlan, Exchange as Exchange
from .execution.open_program import Connection as Connection, OpenProgram as OpenProgram
from .execution.plan import Plan as Plan
from .execution.run import RunResult as RunResult
from .execution.run_time import (
    alltoallv_init as alltoallv_init,
    neighbor_alltoallv_init as neighbor_alltoallv_init,
)
from .inputs import (
    load_machine as load_machine,
    load_pattern as load_pattern,
    partition as partition,
    read_layout as read_layout,
)
from .machine.costs import Costs as Costs, Limits as Limits
from .machine.machine import Machine as Machine
from .machine.network.routing import Routing as Routing
from .machine.network.topology import Topology as Topology
from .methods.phases.given import method as method
from .methods.phases.problem import Phases as Phases, Problem as Problem
from .models.timeline import Timeline as Timeline
from .models.workload import Workload as Workload
from .pattern.layout import Layout as Layout, Partition as Partition
from .pattern.pattern import Pattern as Pattern
from .schedule.linkage import Guarantees as Guarantees
from .schedule.schedule import Schedule as Schedule
from .studies.compare.comparison import Comparison as Comparison
from .studies.run_time.job import RunTimeResult as RunTimeResult
from .studies.times import Timing as Timing
from .verification.verification import Verification as Verification

__version__: str
