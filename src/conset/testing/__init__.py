"""The tests that every method passes, for methods of other people too.

    pytest --pyargs conset.testing --method mine.py:name

`test_method` has the tests: networks and patterns, each schedule judged by the independent
verifier · `plugin` gives pytest the option. Without `--method` all methods of the table are tested.
pytest is no dependency of conset: `pip install pytest`.
"""
