"""How tools/vendors runs other programs, and what it says where they fail."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHROOT_TOOL = os.path.join(ROOT, "tools", "chroot")
SETUP_TOOL = os.path.join(ROOT, "tools", "setup")
MAKE_TIMEOUT_S = 1800


class Unavailable(Exception):
    """What was asked for cannot be had here; the text says why."""


def say(text):
    print("vendors: " + text, file=sys.stderr, flush=True)


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def run_quietly(command, timeout_s=MAKE_TIMEOUT_S):
    """Raises Unavailable with the last line that the command said, where it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise Unavailable("%s took longer than %d s" % (os.path.basename(command[0]), timeout_s)) from None
    except OSError as error:
        raise Unavailable(str(error)) from None
    if done.returncode != 0:
        raise Unavailable(last_line(done.stderr))


def in_chroot(chroot, pattern):
    """The path within the chroot of the one file that matches. There is none where a network broke off."""
    found = sorted(glob.glob(os.path.join(chroot, pattern)))
    if not found:
        raise Unavailable("%s has no %s" % (chroot, pattern))
    return found[0][len(chroot):]
