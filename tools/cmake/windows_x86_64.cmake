# Windows on x86-64, with Debian's and Ubuntu's mingw-w64 (gcc-mingw-w64-x86-64-posix). CMAKE_FIND_ROOT_PATH is the
# directory that has zlib, jansson, PCRE2 and utf8proc for it (DIR/lib, DIR/include), as `tools/cross-dependencies
# --toolchain tools/cmake/windows_x86_64.cmake --prefix DIR` makes it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
# The posix variant has pthread.h.
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# Without any such directory CMake would look where the building system's libraries are.
list(APPEND CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# A program then needs no DLL of the compiler's.
foreach(kind EXE SHARED)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-static -static-libgcc")
endforeach()
