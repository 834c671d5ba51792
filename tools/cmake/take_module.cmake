# Takes a module that another build has compiled (VKF_SHADER_MODULES): copies FROM to OUTPUT. Fails where it is missing
# or older than what it was made of: the files of SHADERS that its depfile names or, without one, SOURCE and all that
# this may include.

cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/VkfShaderModules.cmake)

if(NOT EXISTS ${FROM})
    message(FATAL_ERROR "${FROM} is missing: build the directory that VKF_SHADER_MODULES names first")
endif()
if(EXISTS ${FROM}.d)
    file(READ ${FROM}.d rule)
    string(REGEX REPLACE "^[^ ]*: *|\n" "" rule "${rule}")
    separate_arguments(files UNIX_COMMAND "${rule}")
    list(TRANSFORM files REPLACE "^.*/shaders/" "")
else()
    vkf_shader_files(files ${SHADERS} ${SOURCE})
endif()
foreach(file IN LISTS files)
    if(${SHADERS}/${file} IS_NEWER_THAN ${FROM})
        message(FATAL_ERROR "${FROM} is older than ${SHADERS}/${file}: build the directory that VKF_SHADER_MODULES "
                            "names first")
    endif()
endforeach()
file(COPY_FILE ${FROM} ${OUTPUT})
file(TOUCH_NOCREATE ${OUTPUT})
