# Linux on this machine's processor, by its own compiler (Debian's or Ubuntu's), with the headers and libraries of
# another, older system: what is built runs wherever the C library is as new as that one's. CMAKE_SYSROOT is the
# directory that has them, as `tools/chroot --suite SUITE --unpack ARCHITECTURE DIR PACKAGE...` makes it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# A compiler that is not a cross compiler looks beside itself first, which is this system's C library.
set(linux_sysroot_libraries "")
foreach(directory usr/lib lib)
    set(directory ${CMAKE_SYSROOT}/${directory}/${CMAKE_LIBRARY_ARCHITECTURE})
    string(APPEND linux_sysroot_libraries " -B${directory} -L${directory}")
endforeach()
foreach(kind EXE MODULE SHARED)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT ${linux_sysroot_libraries})
endforeach()
