# Fails when a module of shaders/prebuilt is missing, or was made of other sources or flags than there are now, and when
# the packed modules are not those that the manifest tells of. SHADERS: the directory shaders/. STAMP: written when all
# is well.

cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/VkfShaderModules.cmake)

set(remedy "Run tools/prebuild-shaders, and commit what it writes together with the change.")

set(modules)
function(vkf_add_variant shader source)
    cmake_parse_arguments(variant "" "" "TYPES;DEFINES;NEEDS" ${ARGN})
    list(JOIN variant_TYPES "_" types)
    set(module ${shader}.${types})
    set(modules ${modules} ${module} PARENT_SCOPE)
    vkf_shader_target(target ${variant_NEEDS})
    vkf_shader_hash(hash ${SHADERS} ${source} ${target} ${variant_DEFINES})
    vkf_prebuilt_entry(recorded compiler ${SHADERS} ${module})
    if(recorded STREQUAL "")
        message(SEND_ERROR "shaders/prebuilt has no module ${module}. ${remedy}")
    elseif(NOT recorded STREQUAL hash)
        message(SEND_ERROR "shaders/prebuilt: ${module} is stale: ${source}, a file that it includes, or its flags "
                           "have changed since it was made. ${remedy}")
    endif()
endfunction()
include(${SHADERS}/prebuilt/modules.cmake)

set(archive ${SHADERS}/prebuilt/modules.tar.xz)
set(hash missing)
if(EXISTS ${archive})
    file(SHA256 ${archive} hash)
endif()
vkf_prebuilt_entry(recorded writer ${SHADERS} modules.tar.xz)
if(NOT recorded STREQUAL hash)
    message(SEND_ERROR "shaders/prebuilt/modules.tar.xz is not what manifest.txt was written with. ${remedy}")
endif()
# A module that no list names any more would be shipped for nothing.
file(STRINGS ${SHADERS}/prebuilt/manifest.txt lines REGEX "^[^#]")
list(TRANSFORM lines REPLACE " .*$" "")
list(REMOVE_ITEM lines modules.tar.xz ${modules})
if(lines)
    message(SEND_ERROR "shaders/prebuilt has modules that modules.cmake does not list: ${lines}. ${remedy}")
endif()
if(DEFINED STAMP)
    file(WRITE ${STAMP} "")
endif()
