# Compiler flags. vkf_build_flags carries what all of this project's own code is compiled with.

add_library(vkf_build_flags INTERFACE)
target_compile_features(vkf_build_flags INTERFACE c_std_11)
# C11 and POSIX.1-2008, and no system's own additions.
target_compile_definitions(vkf_build_flags INTERFACE _POSIX_C_SOURCE=200809L)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(vkf_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                           $<$<BOOL:${VKF_WERROR}>:-Werror>)
endif()
if(APPLE)
    # Without it POSIX alone hides how many processors there are, and locks of files.
    target_compile_definitions(vkf_build_flags INTERFACE _DARWIN_C_SOURCE=1)
endif()

if(MINGW)
    # The C library that knows %zu and 64-bit numbers as C99 has them.
    target_compile_definitions(vkf_build_flags INTERFACE __USE_MINGW_ANSI_STDIO=1)
    # isfinite() and its kin hand a number to a function of each type, of which they then take one.
    target_compile_options(vkf_build_flags INTERFACE -Wno-float-conversion)
endif()

# CMake's -O3 for Release makes the library 4 % larger than -O2, and the host's part of the work is small.
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Files named after a system are for that system alone.
if(WIN32)
    set(VKF_OTHER_SYSTEMS_FILES "_posix\\.c$")
else()
    set(VKF_OTHER_SYSTEMS_FILES "_windows\\.c$")
endif()

# Whether libvkformer.a is one object, whose names are its own but for the public ones.
set(VKF_SINGLE_OBJECT OFF)
if(CMAKE_OBJCOPY AND CMAKE_LINKER AND UNIX AND NOT APPLE AND NOT VKF_SANITIZE)
    set(VKF_SINGLE_OBJECT ON)
endif()

# What nothing calls is left out of programs and of the shared library.
if(APPLE)
    set(vkf_gc_sections -Wl,-dead_strip)
elseif(MSVC)
    set(vkf_gc_sections "") # its linker does so by itself
else()
    set(vkf_gc_sections -Wl,--gc-sections)
endif()

if(VKF_SANITIZE)
    list(JOIN VKF_SANITIZE "," vkf_sanitizers)
    add_compile_options(-fsanitize=${vkf_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${vkf_sanitizers})
endif()
