# Where zlib, which was found, is linked. Adds it to vkf_dependencies and vkf_archive_dependencies, which
# libvkformer.so and libvkformer.a are linked with, or sets
#   VKF_ZLIB_INSIDE   zlib's archive, which both libraries then have inside: nothing that uses them needs zlib
#
# What the archive shows stays hidden in both, so that a program may have a zlib of its own beside it.

set(VKF_STATIC_ZLIB AUTO CACHE STRING
    "Put zlib's archive into the library: ON, OFF, or AUTO (with the part core alone, where that is possible)")
set_property(CACHE VKF_STATIC_ZLIB PROPERTY STRINGS ON OFF AUTO)

# vkf_find_zlib_archive(<out> <out_why_not>): an archive that can go into a shared library, or "" and why there is none.
function(vkf_find_zlib_archive out out_why_not)
    set(${out} "" PARENT_SCOPE)
    if(NOT VKF_SINGLE_OBJECT)
        set(${out_why_not} "libvkformer.a is not linked into one object here" PARENT_SCOPE)
        return()
    endif()
    get_filename_component(directory "${ZLIB_LIBRARIES}" DIRECTORY)
    find_library(VKF_ZLIB_ARCHIVE NAMES libz.a HINTS ${directory}
                 DOC "zlib's archive, of code that does not depend on its position")
    mark_as_advanced(VKF_ZLIB_ARCHIVE)
    if(NOT VKF_ZLIB_ARCHIVE)
        set(${out_why_not} "there is no libz.a; VKF_ZLIB_ARCHIVE names one" PARENT_SCOPE)
        return()
    endif()
    # Some distributions compile the archive for programs at fixed addresses alone, which no name tells.
    file(WRITE ${PROJECT_BINARY_DIR}/zlib_trial.c "
        #include <zlib.h>
        int vkf_unpack(Bytef *to, uLongf *used, const Bytef *from, uLong size);
        int vkf_unpack(Bytef *to, uLongf *used, const Bytef *from, uLong size)
        {
            return uncompress(to, used, from, size);
        }\n")
    set(CMAKE_POSITION_INDEPENDENT_CODE ON)
    try_compile(VKF_ZLIB_ARCHIVE_LINKS ${PROJECT_BINARY_DIR}/zlib_trial ${PROJECT_BINARY_DIR}/zlib_trial.c
                CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${ZLIB_INCLUDE_DIRS}"
                LINK_OPTIONS -shared -Wl,--exclude-libs,ALL -Wl,--no-undefined LINK_LIBRARIES ${VKF_ZLIB_ARCHIVE}
                OUTPUT_VARIABLE output)
    if(VKF_ZLIB_ARCHIVE_LINKS)
        set(${out} ${VKF_ZLIB_ARCHIVE} PARENT_SCOPE)
    else()
        file(WRITE ${PROJECT_BINARY_DIR}/zlib_trial.log "${output}")
        set(${out_why_not} "${VKF_ZLIB_ARCHIVE} does not link into a shared library, as zlib_trial.log says"
            PARENT_SCOPE)
    endif()
endfunction()

set(VKF_ZLIB_INSIDE "")
if(VKF_STATIC_ZLIB STREQUAL "AUTO")
    if(VKF_PARTS_BUILT STREQUAL "core")
        vkf_find_zlib_archive(VKF_ZLIB_INSIDE why_not)
        if(NOT VKF_ZLIB_INSIDE)
            message(STATUS "zlib stays outside the library: ${why_not}")
        endif()
    endif()
elseif(VKF_STATIC_ZLIB)
    vkf_find_zlib_archive(VKF_ZLIB_INSIDE why_not)
    if(NOT VKF_ZLIB_INSIDE)
        message(FATAL_ERROR "VKF_STATIC_ZLIB is ON, but ${why_not}")
    endif()
endif()

if(VKF_ZLIB_INSIDE)
    add_library(vkf_zlib INTERFACE)
    target_include_directories(vkf_zlib SYSTEM INTERFACE ${ZLIB_INCLUDE_DIRS})
    target_link_libraries(vkf_zlib INTERFACE ${VKF_ZLIB_INSIDE})
    list(APPEND vkf_dependencies vkf_zlib)
else()
    list(APPEND vkf_dependencies ZLIB::ZLIB)
    list(APPEND vkf_archive_dependencies ZLIB::ZLIB)
endif()
