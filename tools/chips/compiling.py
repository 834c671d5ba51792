"""How tools/vendors compiles for GPUs that are not there: the chips, the chroot, and the program in it."""
import collections
import os
import shlex
import shutil
import subprocess
import sys

from . import emulation
from .running import CHROOT_TOOL, ROOT, SETUP_TOOL, Unavailable, in_chroot, run_quietly, say

PACKAGES = ("mesa-vulkan-drivers", "mesa-drm-shim", "libvulkan1", "libjansson4", "libpcre2-8-0",
            "libcmocka0")  # of a test that runs there

# processor: the one that Debian builds the driver for, or None for any
Chip = collections.namedtuple("Chip", "title vendor shim icd variable value processor", defaults=[None])

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
    "g610": Chip("Mali-G610", "ARM", "panfrost", "panfrost", "PAN_GPU_ID", "a867", emulation.PROCESSOR),
}
# What is emulated takes hours.
DEFAULT_CHIPS = [key for key in CHIPS if key not in ("raven", "nv140", "g610")]


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


def environment_of(chip, chroot):
    """What makes a driver take the chip for there, as arguments of env."""
    environment = [
        "VK_DRIVER_FILES=" + in_chroot(chroot, "usr/share/vulkan/icd.d/%s_icd*.json" % chip.icd),
        "LD_PRELOAD=" + in_chroot(chroot, "usr/lib/*/lib%s_noop_drm_shim.so" % chip.shim),
        "MESA_SHADER_CACHE_DISABLE=true",
    ]
    if chip.variable:
        environment.append("%s=%s" % (chip.variable, chip.value))
    if chip.vendor == "ARM":
        environment.append("PAN_I_WANT_A_BROKEN_VULKAN_DRIVER=true")
    return environment


def chip_option(key):
    """NVK has no name for a GPU that is not there; of others the program finds the rates by the device's name."""
    return ["--chip", key] if CHIPS[key].vendor == "NVIDIA" else []


def is_emulated(key):
    return emulation.is_needed(CHIPS[key].processor)


def make_places(options):
    """{whether chips are emulated: the directory of their drivers} for the chips that are asked for."""
    emulated = {is_emulated(key) for key in options.chips}
    places = {False: make_chroot(options)} if False in emulated else {}
    if True in emulated:
        emulation.set_up(options)
        places[True] = emulation.make_root(options, chroot_of(options))
    return places


def find_programs(options, native, places):
    """{whether it is emulated: program}"""
    return {emulated: emulation.find_program(options, place, native) if emulated else native
            for emulated, place in places.items()}


def run_in(key, place, program):
    """What stands ahead of the program's arguments."""
    environment = environment_of(CHIPS[key], place)
    if is_emulated(key):
        return emulation.command(place, environment, program)
    return [CHROOT_TOOL, "--bind", os.path.dirname(program), place, "--", "env", *environment, program]


def command_for(key, place, program, options):
    which = [] if options.all else ["--defaults"]
    return [*run_in(key, place, program), "shaders", "--no-cache", "--statistics", "--loops", *chip_option(key), *which,
            "--output", "jsonl", "--", *options.names]


def list_command(key, place, program, options):
    """The same without compiling anything."""
    return [word for word in command_for(key, place, program, options) if word not in ("--statistics", "--loops")]


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
