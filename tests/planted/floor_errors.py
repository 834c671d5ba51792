"""Errors in the floors."""
from planted_error import Error

ERRORS = (
)
