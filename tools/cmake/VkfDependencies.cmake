# What the library is built from. The Vulkan loader is not among it: it is opened at run time.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED) # the kernels are stored compressed
set(vkf_dependencies Threads::Threads)
if("models" IN_LIST VKF_PARTS_BUILT)
    find_package(Jansson REQUIRED)
    list(APPEND vkf_dependencies jansson::jansson)
endif()
if("text" IN_LIST VKF_PARTS_BUILT)
    find_package(PCRE2 REQUIRED)    # tokenizers' regular expressions
    find_package(Utf8proc REQUIRED) # what Unicode says about characters
    list(APPEND vkf_dependencies PCRE2::8BIT utf8proc::utf8proc)
endif()
set(vkf_archive_dependencies ${vkf_dependencies})
include(VkfZlib)

find_path(VKF_VULKAN_INCLUDE_DIR vulkan/vulkan_core.h DOC "Directory that holds vulkan/vulkan_core.h")
if(NOT VKF_VULKAN_INCLUDE_DIR AND CMAKE_CROSSCOMPILING)
    # These headers are the same for every system, and the building one's serve. They are copied, since the directory
    # where they stand holds that system's other headers, too.
    find_path(VKF_BUILDING_SYSTEMS_VULKAN vulkan/vulkan_core.h NO_CMAKE_FIND_ROOT_PATH
              PATHS /usr/include /usr/local/include DOC "Directory that holds the building system's Vulkan headers")
    mark_as_advanced(VKF_BUILDING_SYSTEMS_VULKAN)
    if(VKF_BUILDING_SYSTEMS_VULKAN)
        file(COPY ${VKF_BUILDING_SYSTEMS_VULKAN}/vulkan ${VKF_BUILDING_SYSTEMS_VULKAN}/vk_video
             DESTINATION ${PROJECT_BINARY_DIR}/vulkan_headers)
        set(VKF_VULKAN_INCLUDE_DIR ${PROJECT_BINARY_DIR}/vulkan_headers
            CACHE PATH "Directory that holds vulkan/vulkan_core.h" FORCE)
    endif()
endif()
if(NOT VKF_VULKAN_INCLUDE_DIR)
    message(FATAL_ERROR "The Vulkan headers were not found. Install libvulkan-dev (Debian, Ubuntu) or "
                        "vulkan-headers, or set VKF_VULKAN_INCLUDE_DIR.")
endif()

# volk's header alone: the table of device functions. The library fills such tables itself.
find_path(VKF_VOLK_INCLUDE_DIR volk.h PATH_SUFFIXES volk DOC "Directory that holds volk.h")
if(NOT VKF_VOLK_INCLUDE_DIR AND CMAKE_CROSSCOMPILING)
    # The header is the same for every system, and the building one's serves. It is copied, since the directory where it
    # stands holds that system's other headers, too.
    find_path(VKF_BUILDING_SYSTEMS_VOLK volk.h PATH_SUFFIXES volk NO_CMAKE_FIND_ROOT_PATH
              PATHS /usr/include /usr/local/include DOC "Directory that holds the building system's volk.h")
    mark_as_advanced(VKF_BUILDING_SYSTEMS_VOLK)
    if(VKF_BUILDING_SYSTEMS_VOLK)
        configure_file(${VKF_BUILDING_SYSTEMS_VOLK}/volk.h ${PROJECT_BINARY_DIR}/volk/volk.h COPYONLY)
        set(VKF_VOLK_INCLUDE_DIR ${PROJECT_BINARY_DIR}/volk CACHE PATH "Directory that holds volk.h" FORCE)
    endif()
endif()
if(NOT VKF_VOLK_INCLUDE_DIR)
    message(FATAL_ERROR "volk.h was not found. Install libvulkan-volk-dev (Debian, Ubuntu) or volk, "
                        "or set VKF_VOLK_INCLUDE_DIR.")
endif()

# glslang's own CMake package changed its target names between releases; the names of its libraries are what all of
# them share. Those that a release does not have are left out, and a trial link decides.
set(vkf_glslang_libraries "")
if(VKF_RUNTIME_GLSL)
    include(CheckCSourceCompiles)
    find_path(VKF_GLSLANG_INCLUDE_DIR glslang/Include/glslang_c_interface.h)
    foreach(name glslang SPIRV MachineIndependent GenericCodeGen OGLCompiler HLSL OSDependent SPVRemapper
                 glslang-default-resource-limits SPIRV-Tools-opt SPIRV-Tools)
        find_library(VKF_LIBRARY_${name} ${name})
        mark_as_advanced(VKF_LIBRARY_${name})
        if(VKF_LIBRARY_${name})
            list(APPEND vkf_glslang_libraries ${name})
        endif()
    endforeach()
    # They are C++: the one library that a C linker would not add.
    list(APPEND vkf_glslang_libraries stdc++ m)

    set(CMAKE_REQUIRED_LIBRARIES ${vkf_glslang_libraries} Threads::Threads)
    if(VKF_GLSLANG_INCLUDE_DIR)
        set(CMAKE_REQUIRED_INCLUDES ${VKF_GLSLANG_INCLUDE_DIR})
    endif()
    vkf_ask_again(VKF_GLSLANG_LINKS)
    check_c_source_compiles("
        #include <glslang/Include/glslang_c_interface.h>
        #include <glslang/Public/resource_limits_c.h>
        int main(void)
        {
            glslang_input_t input = {0};
            glslang_program_t *program = glslang_program_create();
            input.resource = glslang_default_resource();
            glslang_program_SPIRV_generate(program, GLSLANG_STAGE_COMPUTE);
            return !glslang_initialize_process() || !glslang_shader_create(&input);
        }" VKF_GLSLANG_LINKS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    unset(CMAKE_REQUIRED_INCLUDES)

    if(NOT VKF_GLSLANG_LINKS)
        set(vkf_glslang_libraries "")
        if(NOT VKF_RUNTIME_GLSL STREQUAL "AUTO")
            message(FATAL_ERROR "VKF_RUNTIME_GLSL is ON, but no program links with glslang's C interface. Install "
                                "glslang-dev and spirv-tools (Debian, Ubuntu), or set VKF_RUNTIME_GLSL=OFF.")
        endif()
        message(STATUS "glslang's C interface was not found: the plug-in for GLSL at run time is left out")
    endif()
endif()

# MPI, for the program alone.
if(VKF_MPI AND VKF_BUILD_PROGRAM)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI QUIET COMPONENTS C)
    if(NOT MPI_C_FOUND AND NOT VKF_MPI STREQUAL "AUTO")
        message(FATAL_ERROR "VKF_MPI is ON, but MPI was not found. Install libopenmpi-dev and openmpi-bin (Debian, "
                            "Ubuntu), or set VKF_MPI=OFF.")
    endif()
endif()
