"""Conset's own files: schedules, programs and timelines, written the same every time and read without belief.

`sniff` says what a file is; `schedule`, `program` and `timeline` write and read one kind each; `models` say what may
stand in a file, `validate` holds it to them and words what is wrong. Long lists and arrays are checked by NumPy
(`arrays`), not element by element. Nouns know nothing of their files.
"""
