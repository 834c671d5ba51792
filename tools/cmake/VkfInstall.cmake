# What `cmake --install` puts where: headers, both libraries, the CMake package and vkformer.pc; the plug-in that
# compiles GLSL, as the component "glsl"; with the program also its manual page and completions.

#
# What a program needs to run is the component "library", what it needs to be built is "development", and the program
# vkformer is "program": packages are made of these.

include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/vkformer)

install(TARGETS vkformer_shared vkformer_static EXPORT vkformer
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/vkformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY tools/bindings/cpp/vkformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT cpp
        FILES_MATCHING PATTERN "*.hpp")
install(EXPORT vkformer NAMESPACE vkformer:: FILE vkformerTargets.cmake DESTINATION ${package_dir})
set(vkf_glsl_file libvkformer-glsl.so)
if(APPLE)
    set(vkf_glsl_file libvkformer-glsl.dylib)
elseif(WIN32)
    set(vkf_glsl_file vkformer-glsl.dll)
endif()
set(package_needs_zlib ON)
if(VKF_ZLIB_INSIDE)
    set(package_needs_zlib OFF)
endif()
configure_package_config_file(tools/cmake/vkformerConfig.cmake.in vkformerConfig.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(vkformerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vkformerConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/vkformerConfigVersion.cmake
              tools/cmake/FindJansson.cmake tools/cmake/FindPCRE2.cmake tools/cmake/FindUtf8proc.cmake
        DESTINATION ${package_dir})

if(TARGET vkformer_glsl)
    install(TARGETS vkformer_glsl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT glsl)
endif()

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The dependencies are named as libraries, not under Requires.private: pkg-config reads the packages named there even
# for the flags of a program that uses the shared library, which needs none of them.
set(pc_private_libraries "")
set(pc_libraries "")
if("text" IN_LIST VKF_PARTS_BUILT)
    list(APPEND pc_private_libraries pcre2-8 utf8proc)
    list(APPEND pc_libraries ${PCRE2_LIBRARY} ${UTF8PROC_LIBRARY})
endif()
if("models" IN_LIST VKF_PARTS_BUILT)
    list(APPEND pc_private_libraries jansson)
    list(APPEND pc_libraries ${JANSSON_LIBRARY})
endif()
if(package_needs_zlib)
    list(APPEND pc_private_libraries z)
    list(APPEND pc_libraries ${ZLIB_LIBRARIES})
endif()
list(APPEND pc_private_libraries ${CMAKE_DL_LIBS} m)
list(JOIN VKF_PARTS_BUILT " " pc_parts)
list(TRANSFORM pc_private_libraries PREPEND "-l")
foreach(library ${pc_libraries})
    get_filename_component(directory ${library} DIRECTORY)
    if(NOT directory IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES AND NOT "-L${directory}" IN_LIST pc_private_libraries)
        list(PREPEND pc_private_libraries -L${directory})
    endif()
endforeach()
list(JOIN pc_private_libraries " " pc_private_libraries)
string(APPEND pc_private_libraries " ${CMAKE_THREAD_LIBS_INIT}")
# The prefix is written relative to the file's own place, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(tools/cmake/vkformer.pc.in vkformer.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vkformer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(VKF_BUILD_PROGRAM)
    set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
    configure_file(tools/program/manual/vkformer.1.in vkformer.1 @ONLY)
    if(TARGET vkformer_glsl AND NOT APPLE)
        # The library in the program finds the plug-in from there in a prefix that the system knows nothing of.
        file(RELATIVE_PATH from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
        set_target_properties(vkformer_program PROPERTIES INSTALL_RPATH "$ORIGIN/${from_program}")
    endif()
    install(TARGETS vkformer_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    if(TARGET vkformer_ranked)
        install(TARGETS vkformer_ranked RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vkformer.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES tools/program/manual/vkformer.bash RENAME vkformer
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES tools/program/manual/_vkformer DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
