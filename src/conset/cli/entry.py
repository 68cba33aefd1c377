"""The console script of installations made before `conset.cli.main` was its entry."""

from conset.cli.main import main as main
