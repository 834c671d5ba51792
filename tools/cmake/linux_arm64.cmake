# Linux on arm64, with Debian's and Ubuntu's cross compiler (gcc-aarch64-linux-gnu). CMAKE_SYSROOT is the directory that
# has that system's headers and libraries, as `tools/chroot --unpack arm64 DIR PACKAGE...` makes it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# The compiler links with a C library of its own, which may be older than the one that the libraries found there take.
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--allow-shlib-undefined)
