"""Report: what people see of machines, patterns and schedules: terminal, pictures, notebook; one report, one file."""
