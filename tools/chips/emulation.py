"""Chips whose driver Debian builds for another processor alone: program and driver run in QEMU."""
import os
import platform
import shutil
import subprocess
import sys

from .running import CHROOT_TOOL, ROOT, SETUP_TOOL, Unavailable, run_quietly, say

PROCESSOR = "arm64"
MACHINES = ("aarch64", "arm64")  # as Python names it
QEMU = "qemu-aarch64"
# The drivers, and what the program is built with.
PACKAGES = ("mesa-vulkan-drivers", "mesa-drm-shim", "libvulkan1", "libvulkan-dev", "libvulkan-volk-dev", "libc6-dev",
            "libjansson-dev", "libpcre2-dev", "libutf8proc-dev", "zlib1g-dev")


def is_needed(processor):
    return processor == PROCESSOR and platform.machine() not in MACHINES


def set_up(options):
    if not options.no_setup:
        run_quietly([SETUP_TOOL, "--arm64"])
    if not shutil.which(QEMU):
        raise Unavailable("%s is missing: apt-get install qemu-user" % QEMU)


def make_root(options, chroot):
    """The directory beside the chroot that holds the other processor's packages."""
    root = "%s-%s" % (chroot, PROCESSOR)
    if options.no_setup:
        if not os.path.exists(os.path.join(root, "unpacked")):
            raise Unavailable("there is no directory %s of unpacked packages" % root)
        return root
    if not os.path.exists(root):
        say("unpacking packages for %s into %s" % (PROCESSOR, root))
    run_quietly([CHROOT_TOOL, "--unpack", PROCESSOR, root, *PACKAGES])
    return root


def build_program(root, build, modules):
    """The kernels are those of this processor's program, whose modules are taken."""
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["cmake", "--preset", "linux-arm64", "-B", build, "-DCMAKE_SYSROOT=" + root,
                        "-DVKF_SHADER_MODULES=" + modules], cwd=ROOT, stdout=sys.stderr, check=True)
    subprocess.run(["cmake", "--build", build, "--target", "vkformer_program"], stdout=sys.stderr, check=True)


def find_program(options, root, native):
    """The program in the folder of the processor's name beside `native`, this processor's program."""
    directory = os.path.dirname(native)
    build = os.path.join(directory, PROCESSOR)
    if not options.build and not options.no_setup:
        build_program(root, build, os.path.join(directory, "shaders"))
    path = os.path.join(build, os.path.basename(native))
    if not os.access(path, os.X_OK):
        raise Unavailable("there is no program %s, built for %s" % (path, PROCESSOR))
    return path


def command(root, environment, program):
    return [QEMU, "-L", root, *(word for setting in environment for word in ("-E", setting)), program]
