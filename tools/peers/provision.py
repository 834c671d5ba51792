"""Python for the peers: a virtual environment of this system's, and wheels beside the chroot's interpreter."""
import os
import subprocess
import sys

from .places import CHROOT_PYTHON, Unavailable, last_words

PACKAGES = ("ncnn", "numpy")
MODEL_PACKAGES = ("gguf", "numpy")
# The packages share one module, and have two of their own below it.
IREE_PACKAGES = {"iree.compiler": "iree-base-compiler", "iree.runtime": "iree-base-runtime"}
PIP_S = 600


def run(command, cwd=None):
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PIP_S,
                   cwd=cwd)
    except subprocess.TimeoutExpired:
        raise Unavailable("%s did not end within %d s" % (command[0], PIP_S)) from None
    except subprocess.CalledProcessError as error:
        raise Unavailable(last_words(error.stderr)) from None
    except OSError as error:
        raise Unavailable(str(error)) from None


def can_import(python, package):
    done = subprocess.run([python, "-c", "import " + package], stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    return done.returncode == 0


def host_python(work_dir, packages=PACKAGES):
    """An interpreter with the packages; what pip cannot fetch leaves its peer without a figure."""
    directory = os.path.join(work_dir, "venv")
    python = os.path.join(directory, "bin", "python")
    if not os.path.exists(python):
        run([sys.executable, "-m", "venv", directory])
    missing = [package for package in packages if not can_import(python, package)]
    if missing:
        run([python, "-m", "pip", "install", "--quiet", *missing])
    return python


def add_iree(python):
    """Into the same environment, when it is first asked for: the compiler is large, and nobody else's business."""
    missing = [package for module, package in IREE_PACKAGES.items() if not can_import(python, module)]
    if missing:
        run([python, "-m", "pip", "install", "--quiet", *missing])


def torch_python(python):
    """The first interpreter that has torch, which nobody installs for a comparison."""
    for candidate in (python, sys.executable, "/usr/bin/python3"):
        if candidate and os.path.exists(candidate) and can_import(candidate, "torch"):
            return candidate
    raise Unavailable("no Python here has torch")


def chroot_packages(place, python, packages=PACKAGES, folders=PACKAGES):
    """A directory with the packages for the chroot's interpreter, fetched by this system's pip; folders: what they
    consist of."""
    if not place.has(CHROOT_PYTHON):
        raise Unavailable("the chroot has no python3")
    version = place.run([CHROOT_PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], 60).strip()
    directory = os.path.join(place.work_dir, "python" + version)
    if not all(os.path.isdir(os.path.join(directory, *folder.split("."))) for folder in folders):
        run([python, "-m", "pip", "install", "--quiet", "--target", directory, "--upgrade", "--python-version", version,
             "--only-binary=:all:", *packages])
    return directory
