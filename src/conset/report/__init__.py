"""Report: what people see of machines, patterns and schedules: terminal, pictures, notebook.

One report, one file.
"""
