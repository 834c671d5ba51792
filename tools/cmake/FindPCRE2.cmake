# Finds PCRE2's library for 8-bit text and defines the target PCRE2::8BIT, the name that PCRE2's own package
# uses. pkg-config only says where to look, so that cross builds work with CMAKE_PREFIX_PATH or CMAKE_FIND_ROOT_PATH
# alone.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(PC_PCRE2 QUIET libpcre2-8)
endif()
find_path(PCRE2_INCLUDE_DIR pcre2.h HINTS ${PC_PCRE2_INCLUDE_DIRS})
find_library(PCRE2_LIBRARY pcre2-8 HINTS ${PC_PCRE2_LIBRARY_DIRS})
mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libpcre2-dev (Debian, Ubuntu) or pcre2")
if(PCRE2_FOUND AND NOT TARGET PCRE2::8BIT)
    add_library(PCRE2::8BIT UNKNOWN IMPORTED)
    set_target_properties(PCRE2::8BIT PROPERTIES IMPORTED_LOCATION ${PCRE2_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})
    if(WIN32 AND PCRE2_LIBRARY MATCHES "\\.a$" AND NOT PCRE2_LIBRARY MATCHES "\\.dll\\.a$")
        # Without it the header takes every function for one of a DLL.
        set_target_properties(PCRE2::8BIT PROPERTIES INTERFACE_COMPILE_DEFINITIONS PCRE2_STATIC)
    endif()
endif()
