# Finds jansson and defines the target jansson::jansson, the name that jansson's own package uses. pkg-config only says
# where to look, so that cross builds work with CMAKE_PREFIX_PATH or CMAKE_FIND_ROOT_PATH alone.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(PC_JANSSON QUIET jansson)
endif()
find_path(JANSSON_INCLUDE_DIR jansson.h HINTS ${PC_JANSSON_INCLUDE_DIRS})
find_library(JANSSON_LIBRARY jansson HINTS ${PC_JANSSON_LIBRARY_DIRS})
mark_as_advanced(JANSSON_INCLUDE_DIR JANSSON_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jansson REQUIRED_VARS JANSSON_LIBRARY JANSSON_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libjansson-dev (Debian, Ubuntu) or jansson")
if(Jansson_FOUND AND NOT TARGET jansson::jansson)
    add_library(jansson::jansson UNKNOWN IMPORTED)
    set_target_properties(jansson::jansson PROPERTIES IMPORTED_LOCATION ${JANSSON_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${JANSSON_INCLUDE_DIR})
endif()
