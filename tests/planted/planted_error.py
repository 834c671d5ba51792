"""What an entry of the lists in *_errors.py says."""
from typing import NamedTuple, Tuple


class Error(NamedTuple):
    name: str  # what is wrong then
    file: str
    old: str  # stands once in the file
    new: str
    tests: Tuple[str, ...]  # of those that `tools/check` runs without --all; each has to fail
