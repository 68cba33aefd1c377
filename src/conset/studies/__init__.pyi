from .advice import Advice as Advice, WhatIf as WhatIf, advise as advise
from .calibrate.calibrate import Calibration as Calibration
from .calibrate.fitted import Contention as Contention
from .calibrate.measurements import (
    Measurements as Measurements,
    read_measurements as read_measurements,
)
from .campaign.campaign import Campaign as Campaign, read_campaign as read_campaign
from .campaign.result import (
    MODEL as MODEL,
    Case as Case,
    CaseResult as CaseResult,
    Contest as Contest,
    Errors as Errors,
    FabricSummary as FabricSummary,
    predictors as predictors,
    results_object as results_object,
    summarize_campaign as summarize_campaign,
    write_tables as write_tables,
)
from .campaign.run import (
    CampaignRun as CampaignRun,
    Progress as Progress,
    failure_text as failure_text,
    parse_share as parse_share,
    read_results as read_results,
    run_campaign as run_campaign,
    select_cases as select_cases,
    state_of_cases as state_of_cases,
)
from .compare.comparison import (
    SUFFIXES as SUFFIXES,
    Comparison as Comparison,
    Policies as Policies,
    StageRow as StageRow,
    check_table_path as check_table_path,
    compare_pairs as compare_pairs,
    compare_stages as compare_stages,
    merged as merged,
    parse_policies as parse_policies,
    write_table as write_table,
)
from .compare.files import FileFindings as FileFindings, examine as examine
from .compare.regions import (
    SIZES as SIZES,
    Cell as Cell,
    Curve as Curve,
    CurvePoint as CurvePoint,
    Regions as Regions,
    chart_exchanges as chart_exchanges,
    chart_regions as chart_regions,
    degrees_of as degrees_of,
    serial_steps as serial_steps,
    trace_curves as trace_curves,
)
from .contender import NAIVE as NAIVE, Entry as Entry
from .record_advice import (
    ExchangeAdvice as ExchangeAdvice,
    RecordAdvice as RecordAdvice,
    advise_record as advise_record,
)
from .run_time.costs import (
    DETECT as DETECT,
    MIN_REPEATS as MIN_REPEATS,
    RunTimeCosts as RunTimeCosts,
    RunTimeRow as RunTimeRow,
)
from .run_time.job import RunTimeResult as RunTimeResult
from .times import (
    MEASURED as MEASURED,
    PREDICTED as PREDICTED,
    Timing as Timing,
    check_by as check_by,
    parse_models as parse_models,
    time_of as time_of,
    time_schedule as time_schedule,
    with_modelled as with_modelled,
)
from .tuning import (
    LIBRARIES as LIBRARIES,
    Rule as Rule,
    check_tuning as check_tuning,
    merged_rules as merged_rules,
    tune as tune,
    write_tuning as write_tuning,
)
