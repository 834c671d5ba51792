# Finds utf8proc and defines the target utf8proc::utf8proc, the name that utf8proc's own package uses. pkg-config
# only says where to look, so that cross builds work with CMAKE_PREFIX_PATH or CMAKE_FIND_ROOT_PATH alone.
#
# The archive goes before the shared library, whose name changes with every other release of it: a program that is moved
# to another system would not start.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(PC_UTF8PROC QUIET libutf8proc)
endif()
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h HINTS ${PC_UTF8PROC_INCLUDE_DIRS})
find_library(UTF8PROC_LIBRARY NAMES libutf8proc.a utf8proc HINTS ${PC_UTF8PROC_LIBRARY_DIRS})
mark_as_advanced(UTF8PROC_INCLUDE_DIR UTF8PROC_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Utf8proc REQUIRED_VARS UTF8PROC_LIBRARY UTF8PROC_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libutf8proc-dev (Debian, Ubuntu) or utf8proc")
if(Utf8proc_FOUND AND NOT TARGET utf8proc::utf8proc)
    add_library(utf8proc::utf8proc UNKNOWN IMPORTED)
    set_target_properties(utf8proc::utf8proc PROPERTIES IMPORTED_LOCATION ${UTF8PROC_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${UTF8PROC_INCLUDE_DIR})
    if(WIN32 AND UTF8PROC_LIBRARY MATCHES "\\.a$" AND NOT UTF8PROC_LIBRARY MATCHES "\\.dll\\.a$")
        # Without it the header takes every function for one of a DLL.
        set_target_properties(utf8proc::utf8proc PROPERTIES INTERFACE_COMPILE_DEFINITIONS UTF8PROC_STATIC)
    endif()
endif()
