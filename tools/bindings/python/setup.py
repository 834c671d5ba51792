"""Builds the extension module: cffi writes its C file from the public headers, and CMake compiles it with the library.

Two variables of the environment: VKFORMER_PREFIX takes an installed library instead of building one, and
VKFORMER_CMAKE_ARGS has further arguments for CMake, as "-DVKF_SHADER_MODULES=DIR".
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import sysconfig

import cffi
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PREFIX = os.environ.get("VKFORMER_PREFIX", "")
INCLUDE = pathlib.Path(PREFIX) / "include" if PREFIX else ROOT / "include"
LICENSE = pathlib.Path(PREFIX) / "share" / "doc" / "vkformer" / "LICENSE" if PREFIX else ROOT / "LICENSE"
# The module keeps to Python's stable ABI: one serves every version from this on.
OLDEST, SUFFIX = "cp39", ".abi3.so"
# The library as it is installed.
LIBRARY_OPTIONS = ("-DVKF_BUILD_TESTS=OFF", "-DVKF_BUILD_PROGRAM=OFF", "-DVKF_RUNTIME_GLSL=OFF")

sys.path.insert(0, str(HERE))
from declarations import declarations  # noqa: E402  (the folder of this file is in no path)


def version():
    text = (INCLUDE / "vkformer" / "status.h").read_text()
    return ".".join(re.search(rf"VKF_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def compiler():
    return shlex.split(os.environ.get("CC", "cc"))


class BuildNative(build_ext):
    """In place of distutils' compiler CMake builds, which knows what the library is linked with."""

    def get_ext_filename(self, fullname):
        return os.path.join(*fullname.split(".")) + SUFFIX

    def build_extension(self, ext):
        build = pathlib.Path(self.build_temp).resolve() / "cmake"
        build.mkdir(parents=True, exist_ok=True)
        native = build / "_native.c"
        builder = cffi.FFI()
        builder.cdef(declarations(INCLUDE, compiler()))
        builder.set_source("vkformer._native", "#include <vkformer/vkformer.h>\n")
        builder.emit_c_code(str(native))
        options = [f"-DVKFORMER_NATIVE_C={native}", f"-DVKFORMER_NATIVE_SUFFIX={SUFFIX}",
                   f"-DVKFORMER_PYTHON_INCLUDE={sysconfig.get_path('include')}", f"-DVKFORMER_PREFIX={PREFIX}",
                   "-DCMAKE_BUILD_TYPE=Release", *LIBRARY_OPTIONS,
                   *shlex.split(os.environ.get("VKFORMER_CMAKE_ARGS", ""))]
        subprocess.run(["cmake", "-S", str(HERE), "-B", str(build), *options], check=True)
        subprocess.run(["cmake", "--build", str(build), "--target", "native", "--parallel", str(os.cpu_count() or 1)],
                       check=True)
        target = self.get_ext_fullpath(ext.name)
        self.copy_file(str(build / f"_native{SUFFIX}"), target)
        self.copy_file(str(LICENSE), os.path.join(os.path.dirname(target), "LICENSE"))


setup(version=version(), ext_modules=[Extension("vkformer._native", [], py_limited_api=True)],
      cmdclass={"build_ext": BuildNative}, options={"bdist_wheel": {"py_limited_api": OLDEST}})
