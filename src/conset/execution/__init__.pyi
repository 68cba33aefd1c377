from .agreement import (
    POLL_INTERVAL_S as POLL_INTERVAL_S,
    Waiter as Waiter,
    cores_and_ranks as cores_and_ranks,
)
from .c_program import (
    SUFFIX as SUFFIX,
    CProgramHead as CProgramHead,
    write_c_program as write_c_program,
)
from .connection_entries import ConnectionEntries as ConnectionEntries, keeps_order as keeps_order
from .exchange import (
    CommPlan as CommPlan,
    Exchange as Exchange,
    plan_on as plan_on,
    require_ranks as require_ranks,
)
from .interception import (
    PLANS as PLANS,
    PRELOAD as PRELOAD,
    RECORDED as RECORDED,
    mpi_of as mpi_of,
    preloaded as preloaded,
    replacing_record as replacing_record,
    run_program as run_program,
    why_nothing as why_nothing,
)
from .job import (
    DIRECT as DIRECT,
    Given as Given,
    HeldFile as HeldFile,
    JobResult as JobResult,
    Result as Result,
    Tell as Tell,
    check_measuring as check_measuring,
    explain_end as explain_end,
    find_job as find_job,
    find_launcher as find_launcher,
    held_files as held_files,
    remove_files as remove_files,
    run_job as run_job,
    start_job as start_job,
)
from .measure import (
    MeasuredRank as MeasuredRank,
    Tamper as Tamper,
    library_name as library_name,
    times_over_ranks as times_over_ranks,
)
from .plan import (
    MAX_BYTES as MAX_BYTES,
    PLAN as PLAN,
    Plan as Plan,
    plan_items as plan_items,
    write_plan_file as write_plan_file,
)
from .planner import make_plan as make_plan, plan_direct as plan_direct
from .run import (
    RunResult as RunResult,
    run_compiled as run_compiled,
    run_paired as run_paired,
    why_no_alltoall as why_no_alltoall,
)
from .run_time import (
    SetupTimes as SetupTimes,
    alltoallv_init as alltoallv_init,
    check_methods as check_methods,
    machine_word as machine_word,
    temporary_folders as temporary_folders,
)
from .stopping import Ratio as Ratio, Stopping as Stopping
