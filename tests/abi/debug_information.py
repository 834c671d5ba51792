"""The public functions and their types as the library's debug information has them, by libabigail.

The library of a test has no such information. So the sources that define public functions are compiled once more."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BASELINE = os.path.join(HERE, "baseline.abi")
# Without what differs from one machine to another, and what no program sees.
ABIDW = ("abidw", "--suppressions", os.path.join(HERE, "private_types.suppr"), "--exported-interfaces-only",
         "--no-architecture", "--no-comp-dir-path", "--no-corpus-path", "--no-elf-needed", "--no-parameter-names",
         "--no-show-locs", "--no-write-default-sizes", "--type-id-style", "hash")


def available():
    return bool(shutil.which("abidw") and shutil.which("abidiff"))


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, **options).stdout


def public_sources(commands):
    """(directory, arguments) of each compilation of the library whose object shows a public function."""
    with open(commands, encoding="utf-8") as file:
        entries = [entry for entry in json.load(file) if "/vkf_objects.dir/" in entry["command"]]
    compilations = {}
    for entry in entries:
        arguments = shlex.split(entry["command"])
        written = os.path.join(entry["directory"], arguments[arguments.index("-o") + 1])
        compilations[written] = entry["directory"], arguments
    shown = run("nm", "-A", "-g", "--defined-only", *compilations)
    return [compilations[written] for written in dict.fromkeys(re.findall(r"(?m)^(.*):\w+ T vkf_[a-z]", shown))]


def built(cc, commands, directory):
    """A library of the public functions alone, with debug information that names files by their place in the tree."""
    objects = []
    for where, arguments in public_sources(commands):
        objects.append(os.path.join(directory, f"{len(objects)}.o"))
        arguments[arguments.index("-o") + 1] = objects[-1]
        run(*arguments, "-O0", "-g", "-w", f"-ffile-prefix-map={ROOT}/=", cwd=where)
    library = os.path.join(directory, "libvkformer.so")
    run(cc, "-shared", "-o", library, *objects)
    return library


def described(cc, commands):
    """libabigail's XML of the library that was built by these commands."""
    with tempfile.TemporaryDirectory() as directory:
        return run(*ABIDW, built(cc, commands, directory))


def renew(cc, commands):
    text = described(cc, commands)
    with open(BASELINE, "w", encoding="utf-8") as file:
        file.write(text)


def suppressions(counts, grown):
    """`counts`: enumerators that grow with their enumeration. `grown`: structs whose new members are all right.

    has_data_member_inserted_at = end would say so of every struct that may grow, but libabigail 2.2 then overlooks all
    other changes of such a struct, too."""
    text = f"[suppress_type]\n  type_kind = enum\n  changed_enumerators = {', '.join(sorted(counts))}\n"
    return text + "".join(f"[suppress_type]\n  type_kind = struct\n  name = {name}\n" for name in sorted(grown))


def differences(old, new, counts, grown):
    """What abidiff says of two texts, "" where nothing but additions and what may grow differs."""
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for name, text in ("old.abi", old), ("new.abi", new), ("grown.suppr", suppressions(counts, grown)):
            paths.append(os.path.join(directory, name))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", paths[2], *paths[:2]],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    return done.stdout or f"abidiff ended with {done.returncode}" if done.returncode else ""


def edited(text, pattern, replacement):
    changed, count = re.subn(pattern, replacement, text, count=1, flags=re.S)
    if not count:
        sys.exit(f"abi: nothing in what abidw writes is like {pattern}")
    return changed


def with_late_member(text):
    """vkf_gemm_desc with one more member at its end."""
    kind = re.search(r"<typedef-decl name='uint64_t' type-id='\w+' id='(\w+)'", text)[1]
    size = int(re.search(r"<class-decl name='vkf_gemm_desc' size-in-bits='(\d+)'", text)[1])
    member = (f"<data-member access='public' layout-offset-in-bits='{size}'>"
              f"<var-decl name='late' type-id='{kind}' visibility='default'/></data-member>")
    grown = edited(text, r"(<class-decl name='vkf_gemm_desc'.*?)(</class-decl>)", rf"\g<1>{member}\g<2>")
    return edited(grown, rf"(<class-decl name='vkf_gemm_desc' size-in-bits=)'{size}'", rf"\g<1>'{size + 64}'")


def check_itself(text, counts):
    """abidiff finds breaks, and takes what may grow."""
    double = re.search(r"<type-decl name='double' size-in-bits='64' id='(\w+)'", text)[1]
    late = r"<enumerator name='VKF_DTYPE_LATE' value='\g<2>'/>\g<1>99'"
    wrong = {
        "a function is gone": (r"<elf-symbol name='vkf_argmax' [^>]*/>", ""),
        "a parameter is gone": (r"(<function-decl name='vkf_layer_record_frame'[^>]*>\s*)<parameter[^>]*>", r"\1"),
        "a member has another type": (r"(<var-decl name='alpha' type-id=)'\w+'", rf"\1'{double}'"),
        "an enumerator has another value": (r"(<enumerator name='VKF_DTYPE_F16' value=)'\d+'", r"\1'9'"),
    }
    for what, change in wrong.items():
        if not differences(text, edited(text, *change), counts, ()):
            sys.exit(f"abi: abidiff does not notice that {what}")
    if not differences(text, with_late_member(text), counts, ()):
        sys.exit("abi: abidiff does not notice that a struct has grown")
    right = (differences(text, with_late_member(text), counts, ("vkf_gemm_desc",)) or
             differences(text, edited(text, r"(<enumerator name='VKF_DTYPE_COUNT' value='(\d+))'", late), counts, ()))
    if right:
        sys.exit(f"abi: abidiff does not take what may grow:\n{right}")
