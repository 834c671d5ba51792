"""Errors in the shaders."""
from planted_error import Error

ERRORS = (
)
