# Takes a module that another build has compiled (VKF_SHADER_MODULES): copies FROM to OUTPUT. Fails where it is missing
# or older than one of SOURCES.

cmake_minimum_required(VERSION 3.22)

if(NOT EXISTS ${FROM})
    message(FATAL_ERROR "${FROM} is missing: build the directory that VKF_SHADER_MODULES names first")
endif()
foreach(source IN LISTS SOURCES)
    if(${source} IS_NEWER_THAN ${FROM})
        message(FATAL_ERROR "${FROM} is older than ${source}: build the directory that VKF_SHADER_MODULES names first")
    endif()
endforeach()
file(COPY_FILE ${FROM} ${OUTPUT})
file(TOUCH_NOCREATE ${OUTPUT})
