"""The command line: one command per file, imported when it is named.

`main` lists the commands, `options` the options that several share, `output` prints. A command
parses, calls the Python interface and hands the result to `conset.report`.
"""
