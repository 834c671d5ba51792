"""Kernels and chips as `tools/vendors --json` writes them, and the tool itself, loaded as a module."""
import importlib.machinery
import importlib.util
import os
import sys

sys.dont_write_bytecode = True


def load(tool):
    sys.path.insert(0, os.path.dirname(os.path.abspath(tool)))
    loader = importlib.machinery.SourceFileLoader("vendors", tool)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("vendors", loader))
    loader.exec_module(module)
    return module


def kernel(name, config="large", registers=32, spills=0, scratch=0, compiled=True, default="", constants=""):
    statistics = {"registers": registers, "spills": spills, "inner_spills": None, "scratch_bytes": scratch,
                  "shared_bytes": None, "instructions": 5, "code_bytes": 6, "waves": 8}
    return {"device": "card", "driver": "maker", "driver_info": "1.0", "kernel": name, "config": config,
            "constants": constants, "default_for": default, "compiled": compiled, "status": "VKF_ERROR_SHADER",
            "statistics": statistics if compiled else None, "raw": {"Cycles": 77}}


def chip(kernels, key="m1", error=None, driver="maker 1.0"):
    return {"chip": key, "device": "card", "driver": driver, "error": error, "kernels": kernels}


def raw(kernels, error=None):
    return {"date": "2026-01-02", "command": "tools/vendors x", "chips": [chip(kernels, error=error)]}
