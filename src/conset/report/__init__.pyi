from .advice import advice_section as advice_section, record_section as record_section
from .calibration import (
    calibration_section as calibration_section,
    write_calibration_page as write_calibration_page,
)
from .campaign import (
    campaign_markdown as campaign_markdown,
    campaign_section as campaign_section,
    write_campaign_page as write_campaign_page,
)
from .charts import (
    Bars as Bars,
    Heat as Heat,
    Line as Line,
    Panel as Panel,
    picture_charts as picture_charts,
)
from .comparison import comparison_section as comparison_section
from .facts import (
    bound_section as bound_section,
    candidates_object as candidates_object,
    check_object as check_object,
    check_text as check_text,
    compile_section as compile_section,
    machine_object as machine_object,
    pattern_label as pattern_label,
    pattern_object as pattern_object,
    plan_section as plan_section,
    prediction_section as prediction_section,
    program_object as program_object,
    program_section as program_section,
    run_section as run_section,
    summarize_connections as summarize_connections,
    summarize_plan as summarize_plan,
    switch_text as switch_text,
    verified_text as verified_text,
    violation_lines as violation_lines,
)
from .files import files_parts as files_parts, write_files_page as write_files_page
from .machine import (
    TEXTS_ARE as TEXTS_ARE,
    checks_text as checks_text,
    described as described,
    families_object as families_object,
    families_table as families_table,
    generator_object as generator_object,
    generators_text as generators_text,
    machine_table as machine_table,
    machine_text as machine_text,
    method_object as method_object,
    method_text as method_text,
    networks_object as networks_object,
    networks_table as networks_table,
    of_preset as of_preset,
    picture_machine as picture_machine,
    presets_table as presets_table,
    published_table as published_table,
    remarks_table as remarks_table,
    structure_rows as structure_rows,
)
from .markdown import (
    SUFFIX as SUFFIX,
    plain as plain,
    section_markdown as section_markdown,
    table_markdown as table_markdown,
    write_report as write_report,
)
from .page import (
    check_page_path as check_page_path,
    is_page as is_page,
    machine_html as machine_html,
    pattern_html as pattern_html,
    write_page as write_page,
)
from .pattern import pattern_text as pattern_text, picture_pattern as picture_pattern
from .program_pictures import (
    blocks_drawn as blocks_drawn,
    picture_message as picture_message,
    require_paths as require_paths,
)
from .schedule import (
    Views as Views,
    check_phase as check_phase,
    picture_phase as picture_phase,
    picture_schedule as picture_schedule,
    program_views_object as program_views_object,
    program_views_text as program_views_text,
    schedule_draws as schedule_draws,
    views_object as views_object,
    views_text as views_text,
    write_schedule_page as write_schedule_page,
)
from .sections import Fact as Fact, Part as Part, Section as Section, Table as Table
from .style import (
    FORMATS as FORMATS,
    check_output as check_output,
    require_matplotlib as require_matplotlib,
    save as save,
)
from .sweeps import (
    curves_section as curves_section,
    latency_section as latency_section,
    picture_regions as picture_regions,
    regions_section as regions_section,
    run_time_section as run_time_section,
    tradeoff_section as tradeoff_section,
)
from .terminal import (
    outcome_parts as outcome_parts,
    section_parts as section_parts,
    section_text as section_text,
)
from .timeline import (
    TimelineView as TimelineView,
    picture_timeline as picture_timeline,
    simulation_section as simulation_section,
    timeline_text as timeline_text,
)
