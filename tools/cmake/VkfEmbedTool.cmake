# The program that writes the table of compiled kernels, shaders/embed_modules.c. It runs on the building machine. Sets
#   VKF_EMBED_TOOL        what a command names to run it and to depend on it
#   vkf_embed_modules     the target that makes it

set(embed_sources ${PROJECT_SOURCE_DIR}/shaders/embed_modules.c ${PROJECT_SOURCE_DIR}/src/base/hash.c)
if(NOT CMAKE_CROSSCOMPILING)
    add_executable(vkf_embed_modules ${embed_sources})
    target_include_directories(vkf_embed_modules PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(vkf_embed_modules PRIVATE vkf_build_flags ZLIB::ZLIB)
    set(VKF_EMBED_TOOL vkf_embed_modules)
else()
    find_program(VKF_HOST_CC NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH
        DOC "C compiler for the building machine, which needs zlib, too")
    if(NOT VKF_HOST_CC)
        message(FATAL_ERROR "No C compiler for the building machine was found. Install one with zlib (zlib1g-dev in "
                            "Debian and Ubuntu), or set VKF_HOST_CC to it.")
    endif()
    # Not named as the target: Ninja takes a target's name for a file in this directory.
    set(VKF_EMBED_TOOL ${CMAKE_CURRENT_BINARY_DIR}/embed_modules${CMAKE_HOST_EXECUTABLE_SUFFIX})
    add_custom_command(
        OUTPUT ${VKF_EMBED_TOOL}
        COMMAND ${VKF_HOST_CC} -std=c11 -O2 -I${PROJECT_SOURCE_DIR}/src ${embed_sources} -o ${VKF_EMBED_TOOL} -lz
        DEPENDS ${embed_sources} ${PROJECT_SOURCE_DIR}/src/base/hash.h
            ${PROJECT_SOURCE_DIR}/src/kernel/spirv_coding.h
        COMMENT "Building embed_modules for the building machine with ${VKF_HOST_CC}, and its zlib"
        VERBATIM)
    add_custom_target(vkf_embed_modules DEPENDS ${VKF_EMBED_TOOL})
endif()
