from .auto import (
    FEW as FEW,
    THREADS as THREADS,
    applied as applied,
    best_trial as best_trial,
    candidates as candidates,
    choose_policy as choose_policy,
    choose_schedule as choose_schedule,
    contentions as contentions,
    least_bounds as least_bounds,
    sweeps_link_limit as sweeps_link_limit,
)
from .combining import (
    Combination as Combination,
    compile_along as compile_along,
    compile_combined as compile_combined,
)
from .options import (
    AUTO as AUTO,
    BOUNDED_BY as BOUNDED_BY,
    DEFAULTS as DEFAULTS,
    DIRECT as DIRECT,
    FORMULA as FORMULA,
    POLICIES as POLICIES,
    CompileOptions as CompileOptions,
    check_ranking as check_ranking,
    effective_limits as effective_limits,
    method_name as method_name,
    method_names as method_names,
)
from .pipeline import (
    Placement as Placement,
    chosen_time as chosen_time,
    compile_by as compile_by,
    compile_pattern as compile_pattern,
    placement_of as placement_of,
    why_not as why_not,
)
from .programs import (
    BlockSpec as BlockSpec,
    compile_program as compile_program,
    read_program as read_program,
)
from .summary import (
    gap as gap,
    half_duplex_units as half_duplex_units,
    summarize as summarize,
    summarize_combination as summarize_combination,
)
from .trial import (
    BLOCKING as BLOCKING,
    MAX_MESSAGES as MAX_MESSAGES,
    REL_TOL as REL_TOL,
    allowed_work as allowed_work,
    is_affordable as is_affordable,
    loss_of as loss_of,
    ranking_of as ranking_of,
    require_affordable as require_affordable,
    settings_of as settings_of,
)
