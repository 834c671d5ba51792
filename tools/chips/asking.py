"""How tools/vendors asks the program about chips: several at a time, and an emulated one kernel by kernel."""
import argparse
import concurrent.futures
import datetime
import json
import subprocess
import time

from .compiling import (CHIPS, command_for, command_line, find_program, find_programs, is_emulated, list_command,
                        make_places)
from .running import last_line, say

# PanVK allots registers so slowly where it spills that single kernels would take longer than all others.
EMULATED_KERNEL_TIMEOUT_S = 600


def ask_chip(key, command, timeout_s, what=None):
    begin = time.monotonic()
    result = {"chip": key, "device": None, "driver": None, "error": None, "kernels": []}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s)
        result["kernels"] = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode not in (0, 1) or not result["kernels"]:
            result["error"] = "exit status %d: %s" % (done.returncode, last_line(done.stderr))
    except subprocess.TimeoutExpired:
        result["error"] = "no result within %d s" % timeout_s
    except (OSError, ValueError) as error:
        result["error"] = str(error)
    if result["kernels"]:
        first = result["kernels"][0]
        result["device"] = first["device"].strip()
        result["driver"] = ("%s %s" % (first["driver"].strip(), first["driver_info"])).strip()
    say("%s: %s, %.0f s" % (what or key, result["error"] or "%d kernels" % len(result["kernels"]),
                            time.monotonic() - begin))
    return result


def name_of(kernel):
    return "%s/%s" % (kernel["kernel"], kernel["config"])


def not_compiled(kernel, reason):
    return {**kernel, "compiled": False, "status": reason, "statistics": None, "raw": None, "loop": None,
            "loop_status": None}


def ask_kernel(key, name, listed, command, timeout_s):
    """The result of those of `listed` that have the name; where there is none in time, that is theirs."""
    result = ask_chip(key, command, timeout_s, "%s: %s" % (key, name))
    kernels = [kernel for kernel in listed if name_of(kernel) == name]
    if result["error"]:
        result["kernels"] = [not_compiled(kernel, result["error"]) for kernel in kernels]
        result["error"] = None
    else:  # the name may begin others
        result["kernels"] = [kernel for kernel in result["kernels"] if name_of(kernel) == name]
    return result


def questions_of(key, place, program, options):
    """[a function that gives a result]: all kernels at once, or each of an emulated chip's."""
    if not is_emulated(key):
        return [lambda: ask_chip(key, command_for(key, place, program, options), options.timeout)]
    listed = ask_chip(key, list_command(key, place, program, options), options.timeout, "%s: list" % key)
    if listed["error"]:
        return [lambda: listed]
    timeout_s = min(options.timeout, EMULATED_KERNEL_TIMEOUT_S)

    def question(name):
        one = argparse.Namespace(**{**vars(options), "names": [name]})
        return lambda: ask_kernel(key, name, listed["kernels"], command_for(key, place, program, one), timeout_s)

    return [question(name) for name in dict.fromkeys(name_of(kernel) for kernel in listed["kernels"])]


def merged(results):
    """The results of one chip as one."""
    known = next((result for result in results if result["device"]), results[0])
    return {**known, "error": next((result["error"] for result in results if result["error"]), None),
            "kernels": [kernel for result in results for kernel in result["kernels"]]}


def measure(options):
    native = find_program(options)
    places = make_places(options)
    programs = find_programs(options, native, places)
    # NVK's compiler takes five times as long as the others: none of its chips, nor of the emulated, is left to the end.
    order = sorted(options.chips, key=lambda key: (not is_emulated(key), CHIPS[key].vendor != "NVIDIA"))
    questions = [(key, question) for key in order
                 for question in questions_of(key, places[is_emulated(key)], programs[is_emulated(key)], options)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(lambda pair: (pair[0], pair[1]()), questions))
    return {
        "date": datetime.date.today().isoformat(),
        "command": command_line(options),
        "chips": [merged([answer for asked, answer in answers if asked == key]) for key in options.chips],
    }
