"""The Conan 2 recipe of vkformer, which builds the tree that it lies in: `conan create tools/packaging/conan`."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir

# What the library needs to be built and, where it is static, to be linked.
LIBRARIES = {"jansson": "jansson/[>=2.14 <3]", "pcre2": "pcre2/[>=10.40 <11]", "utf8proc": "utf8proc/[>=2.8 <3]",
             "zlib": "zlib/[>=1.2.11 <2]"}
HEADERS = ("vulkan-headers/[>=1.3.239]", "volk/[>=1.3.239]")
TOOLS = ("glslang/[>=1.3.239]", "spirv-tools/[>=1.3.239]")


class Vkformer(ConanFile):
    name = "vkformer"
    description = "Portable Transformer backend on Vulkan compute"
    license = "MIT"
    topics = ("transformer", "vulkan", "inference")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    # With system_libraries nothing else of Conan's is taken: all that CMake looks for is the system's.
    options = {"shared": [True, False], "fPIC": [True, False], "system_libraries": [True, False]}
    default_options = {"shared": False, "fPIC": True, "system_libraries": False}

    @property
    def _root(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", "..", ".."))

    def set_version(self):
        text = load(self, os.path.join(self._root, "include", "vkformer", "status.h"))
        self.version = ".".join(re.findall(r"#define VKF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for name in ("CMakeLists.txt", "LICENSE", "include/*", "src/*", "shaders/*", "tools/cmake/*",
                     "tools/bindings/*"):
            copy(self, name, self._root, self.export_sources_folder, excludes="*/target/*")

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def requirements(self):
        if not self.options.system_libraries:
            for reference in LIBRARIES.values():
                self.requires(reference)
            for reference in HEADERS:
                self.requires(reference, headers=True, libs=False, visible=False)

    def build_requirements(self):
        if not self.options.system_libraries:
            for reference in TOOLS:
                self.tool_requires(reference)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["VKF_BUILD_PROGRAM"] = "OFF"
        toolchain.cache_variables["VKF_BUILD_TESTS"] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes these for each program, with the libraries that it has chosen.
        for directory in ("lib/cmake", "lib/pkgconfig", "share"):
            rmdir(self, os.path.join(self.package_folder, directory))
        rm(self, "*.a" if self.options.shared else "*.so*", os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.libs = ["vkformer"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["m", "dl", "pthread"]
        if self.options.system_libraries and not self.options.shared:
            self.cpp_info.system_libs += ["jansson", "pcre2-8", "utf8proc", "z"]
        if not self.options.system_libraries:
            self.cpp_info.requires = ["jansson::jansson", "pcre2::pcre2-8", "utf8proc::utf8proc", "zlib::zlib"]
