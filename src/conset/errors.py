"""The errors of conset, under the name that programs import."""

from conset.base.errors import *  # noqa: F403
