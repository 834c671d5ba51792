"""How tools/vendors compiles for GPUs that are not there: the chips, the chroot, and the program in it."""
import collections
import concurrent.futures
import datetime
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHROOT_TOOL = os.path.join(ROOT, "tools", "chroot")
SETUP_TOOL = os.path.join(ROOT, "tools", "setup")
PACKAGES = ("mesa-vulkan-drivers", "mesa-drm-shim", "libvulkan1", "libjansson4", "libpcre2-8-0",
            "libcmocka0")  # of a test that runs there
MAKE_TIMEOUT_S = 1800

Chip = collections.namedtuple("Chip", "title vendor shim icd variable value")

CHIPS = {
    "vega10": Chip("Vega 10", "AMD", "amdgpu", "radeon", "AMDGPU_GPU_ID", "vega10"),
    "raven": Chip("Raven", "AMD", "amdgpu", "radeon", "AMDGPU_GPU_ID", "raven"),
    "navi21": Chip("Navi 21 (RDNA 2)", "AMD", "amdgpu", "radeon", "AMDGPU_GPU_ID", "navi21"),
    "navi31": Chip("Navi 31 (RDNA 3)", "AMD", "amdgpu", "radeon", "AMDGPU_GPU_ID", "navi31"),
    "gfx1201": Chip("GFX1201 (RDNA 4)", "AMD", "amdgpu", "radeon", "AMDGPU_GPU_ID", "gfx1201"),
    "a630": Chip("Adreno 630", "Qualcomm", "freedreno", "freedreno", "FD_GPU_ID", "630"),
    "a660": Chip("Adreno 660", "Qualcomm", "freedreno", "freedreno", "FD_GPU_ID", "660"),
    "a730": Chip("Adreno 730", "Qualcomm", "freedreno", "freedreno", "FD_GPU_ID", "730"),
    "a740": Chip("Adreno 740", "Qualcomm", "freedreno", "freedreno", "FD_GPU_ID", "740"),
    "a750": Chip("Adreno 750", "Qualcomm", "freedreno", "freedreno", "FD_GPU_ID", "750"),
    "nv140": Chip("GV100 (Volta)", "NVIDIA", "nouveau", "nouveau", "NOUVEAU_CHIPSET", "140"),
    "nv162": Chip("TU102 (Turing)", "NVIDIA", "nouveau", "nouveau", "NOUVEAU_CHIPSET", "162"),
    "nv172": Chip("GA102 (Ampere)", "NVIDIA", "nouveau", "nouveau", "NOUVEAU_CHIPSET", "172"),
    "nv192": Chip("AD102 (Ada)", "NVIDIA", "nouveau", "nouveau", "NOUVEAU_CHIPSET", "192"),
    "nv1b2": Chip("GB202 (Blackwell)", "NVIDIA", "nouveau", "nouveau", "NOUVEAU_CHIPSET", "1b2"),
    "m1": Chip("M1", "Apple", "asahi", "asahi", None, None),
}
DEFAULT_CHIPS = [key for key in CHIPS if key not in ("raven", "nv140")]


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


def build_program():
    """As tools/demo does it. What does not build is an error, and ninja has said which."""
    run_quietly([SETUP_TOOL])
    build = os.path.join(ROOT, "build")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, stdout=sys.stderr, check=True)
    subprocess.run(["cmake", "--build", build, "--target", "vkformer_program"], stdout=sys.stderr, check=True)


def find_program(options):
    if not options.build and not options.no_setup:
        build_program()
    path = os.path.join(os.path.abspath(options.build or os.path.join(ROOT, "build")), "vkformer")
    if not os.access(path, os.X_OK):
        raise Unavailable("there is no program %s: build it, or name its directory with --build" % path)
    return path


def chroot_of(options):
    return os.path.abspath(options.chroot or os.path.join(ROOT, "build", "chroot"))


def make_chroot(options, more_packages=()):
    """tools/chroot does nothing where all is there, and says what it lacks."""
    chroot = chroot_of(options)
    if options.no_setup:
        run_quietly([CHROOT_TOOL, chroot, "--", "true"])
        return chroot
    if not os.path.exists(chroot):
        say("making the chroot %s, which takes minutes" % chroot)
        if os.geteuid() == 0 and not shutil.which("debootstrap"):
            run_quietly([SETUP_TOOL, "--debootstrap"])
    run_quietly([CHROOT_TOOL, chroot, *PACKAGES, *more_packages])
    return chroot


def in_chroot(chroot, pattern):
    """The path within the chroot of the one file that matches. There is none where a network broke off."""
    found = sorted(glob.glob(os.path.join(chroot, pattern)))
    if not found:
        raise Unavailable("%s has no %s" % (chroot, pattern))
    return found[0][len(chroot):]


def environment_of(chip, chroot):
    """What makes a driver take the chip for there, as arguments of env."""
    environment = [
        "VK_DRIVER_FILES=" + in_chroot(chroot, "usr/share/vulkan/icd.d/%s_icd*.json" % chip.icd),
        "LD_PRELOAD=" + in_chroot(chroot, "usr/lib/*/lib%s_noop_drm_shim.so" % chip.shim),
        "MESA_SHADER_CACHE_DISABLE=true",
    ]
    if chip.variable:
        environment.append("%s=%s" % (chip.variable, chip.value))
    return environment


def chip_option(key):
    """NVK has no name for a GPU that is not there; of others the program finds the rates by the device's name."""
    return ["--chip", key] if CHIPS[key].vendor == "NVIDIA" else []


def command_for(key, chroot, program, options):
    environment = environment_of(CHIPS[key], chroot)
    which = [] if options.all else ["--defaults"]
    return [CHROOT_TOOL, "--bind", os.path.dirname(program), chroot, "--", "env", *environment, program, "shaders",
            "--no-cache", "--statistics", "--loops", *chip_option(key), *which, "--output", "jsonl", "--",
            *options.names]


def ask_chip(key, command, timeout_s):
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
    say("%s: %s, %.0f s" % (key, result["error"] or "%d kernels" % len(result["kernels"]), time.monotonic() - begin))
    return result


def command_line(options):
    """What decides about the tables; where its ingredients lie does not."""
    words = ["tools/vendors"]
    if options.peer:
        words += ["--peer", options.peer]
    if options.chips != DEFAULT_CHIPS:
        words += ["--chips", ",".join(options.chips)]
    words += ["--" + name for name in ("all", "full") if getattr(options, name)]
    if options.markdown:
        words += ["--markdown", os.path.relpath(options.markdown, ROOT)]
    return shlex.join(words + options.names)


def measure(options):
    program = find_program(options)
    chroot = make_chroot(options)
    # NVK's compiler takes five times as long as the others: none of its chips is left to the end.
    order = sorted(options.chips, key=lambda key: CHIPS[key].vendor != "NVIDIA")
    commands = [command_for(key, chroot, program, options) for key in order]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip(order, pool.map(ask_chip, order, commands, [options.timeout] * len(order))))
    return {
        "date": datetime.date.today().isoformat(),
        "command": command_line(options),
        "chips": [found[key] for key in options.chips],
    }
