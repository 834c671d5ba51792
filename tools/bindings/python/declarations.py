"""What the public headers declare, in the form that cffi reads: nothing is written down twice."""
import pathlib
import re
import subprocess
import tempfile

# The functions of this package that the library calls.
CALLBACKS = """
extern "Python" {
    void vkf_py_message(void *user, vkf_severity severity, const char *text);
    bool vkf_py_progress(void *user, uint32_t done, uint32_t total, const char *what);
    bool vkf_py_text(void *user, uint32_t prompt, const char *bytes, size_t size_bytes);
    void vkf_py_dispatch(void *user, const vkf_planned_dispatch *dispatch);
}
"""


def _preprocessed(include, compiler):
    """The headers without comments, conditions and macros; cffi knows the types of C's own headers itself."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("stdbool.h", "stddef.h", "stdint.h", "string.h"):
            (pathlib.Path(directory) / name).touch()
        command = [*compiler, "-E", "-P", "-nostdinc", f"-I{directory}", f"-I{include}", "-x", "c", "-"]
        done = subprocess.run(command, input="#include <vkformer/vkformer.h>\n", capture_output=True, text=True,
                              check=False)
    if done.returncode:
        raise RuntimeError(f"the headers in {include} could not be read:\n{done.stderr}")
    return done.stdout


def _without_bodies(text):
    """Functions that the headers define are declared like all others: the compiled module calls them all the same."""
    parts, at = [], 0
    for match in re.finditer(r"\bstatic\s+inline\b([^{;]*)\{", text):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        name = re.search(r"\w+(?=\s*\()", match[1])[0]
        declared = re.search(rf"\b{name}\s*\(", text[:match.start()])
        parts += [text[at:match.start()], "" if declared else match[1].strip() + ";"]
        at = end
    return re.sub(r"\bstatic\s+inline\b", "", "".join(parts) + text[at:])


def declarations(include, compiler):
    """`include` is the directory that has vkformer/vkformer.h, `compiler` a C compiler with its flags."""
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", _preprocessed(include, compiler))
    return _without_bodies(text) + CALLBACKS
