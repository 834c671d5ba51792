"""Where the programs run: on this system, or in a chroot with a driver of its own; and in what environment."""
import glob
import json
import os
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHROOT_TOOL = os.path.join(ROOT, "tools", "chroot")
CHROOT_PYTHON = "/usr/bin/python3"


class Unavailable(Exception):
    """What was asked for cannot be had here; the text says why."""


def quiet_threads(threads):
    """As many threads for everybody, lavapipe too, and workers that sleep as soon as they have nothing to do: spinning
    ones would slow the next program down."""
    count = str(threads)
    return {
        "LP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "OPENBLAS_THREAD_TIMEOUT": "16",
        "OMP_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
        "KMP_BLOCKTIME": "0",
        "GGML_VK_VISIBLE_DEVICES": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class Place:
    """Runs commands with one Vulkan driver. chroot: its directory, or None for this system."""

    def __init__(self, name, work_dir, threads, chroot=None):
        self.name = name
        self.work_dir = work_dir
        self.chroot = chroot
        self.binds = [work_dir]
        self.threads = threads
        self.env = dict(os.environ, **quiet_threads(threads))
        self.env["XDG_CACHE_HOME"] = os.path.join(work_dir, "cache", name)
        os.makedirs(self.env["XDG_CACHE_HOME"], exist_ok=True)

    def argv(self, command):
        if not self.chroot:
            return list(command)
        binds = [word for path in self.binds for word in ("--bind", path)]
        return [CHROOT_TOOL, *binds, self.chroot, "--", *command]

    def run(self, command, timeout, extra_env=()):
        """Standard output; raises Unavailable with what the command had to say."""
        env = dict(self.env, **dict(extra_env))
        try:
            done = subprocess.run(self.argv(command), env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Unavailable("no result within %d s" % timeout) from None
        except OSError as error:
            raise Unavailable(str(error)) from None
        if done.returncode != 0:
            raise Unavailable(last_words(done.stderr or done.stdout) or "exit status %d" % done.returncode)
        return done.stdout

    def has(self, path):
        return os.path.exists(self.inside(path))

    def inside(self, path):
        return os.path.join(self.chroot, path.lstrip("/")) if self.chroot else path

    def libraries(self):
        """The directories of shared libraries, as seen from here."""
        return [path for path in glob.glob(self.inside("/usr/lib/*-linux-gnu*")) + [self.inside("/usr/lib64")]
                if os.path.isdir(path)]


def last_words(text):
    """The last line that says something, short enough for a table."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1].replace("|", "/")[:160] if lines else ""


def chroot_place(directory, work_dir, threads):
    """The chroot with its own lavapipe."""
    directory = os.path.abspath(directory)
    place = Place("chroot", work_dir, threads, chroot=directory)
    place.run(["true"], 60)
    icds = glob.glob(os.path.join(directory, "usr/share/vulkan/icd.d/lvp_icd*.json"))
    if not icds:
        raise Unavailable("%s has no lavapipe; tools/chroot %s installs it" % (directory, directory))
    use_driver(place.env, icds[0][len(directory):])
    return place


def use_driver(env, icd):
    """Both names of the variable: older loaders know the first alone, and newer ones prefer the second."""
    env["VK_ICD_FILENAMES"] = env["VK_DRIVER_FILES"] = icd


def host_icd(env, device):
    """The manifest of the driver in use on this system, which is needed to take it elsewhere."""
    named = env.get("VK_DRIVER_FILES") or env.get("VK_ICD_FILENAMES")
    if named:
        return named.split(":")[0]
    if "llvmpipe" in device:
        found = glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json")
        if found:
            return found[0]
    raise Unavailable("the driver's manifest is not known; name it in VK_DRIVER_FILES")


def host_driver_in_chroot(directory, host, device):
    """The chroot's programs on this system's software driver: the driver is copied with those of its libraries that the
    chroot has not."""
    icd = host_icd(host.env, device)
    with open(icd, encoding="utf-8") as f:
        manifest = json.load(f)
    library = manifest["ICD"]["library_path"]
    if "/" not in library:
        library = shutil.which(library, path=":".join(host.libraries()), mode=os.F_OK) or library
    elif not os.path.isabs(library):
        library = os.path.join(os.path.dirname(icd), library)
    place = Place("host-in-chroot", host.work_dir, host.threads, chroot=os.path.abspath(directory))
    copied = os.path.join(host.work_dir, "host-driver")
    os.makedirs(copied, exist_ok=True)
    shutil.copy2(library, copied)
    for path in needed_libraries(host.run(["ldd", library], 60)):
        if not any(os.path.exists(os.path.join(known, os.path.basename(path))) for known in place.libraries()):
            shutil.copy2(path, copied)
    manifest["ICD"]["library_path"] = os.path.join(copied, os.path.basename(library))
    with open(os.path.join(copied, "icd.json"), "w", encoding="utf-8") as f:
        json.dump(manifest, f)
    use_driver(place.env, os.path.join(copied, "icd.json"))
    place.env["LD_LIBRARY_PATH"] = copied
    return place


def needed_libraries(ldd_output):
    return re.findall(r"=> (/\S+)", ldd_output)
