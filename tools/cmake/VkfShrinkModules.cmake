# Modules become smaller, and their ids are numbered in the order of their definitions, which src/kernel/spirv_coding.h
# wants, so that the modules of one source compress well together: of 6,485 kB that glslang writes spirv-opt leaves
# 5,157 kB, and with 1,222 kB of prebuilt modules these take 553 kB in the library. It is optional: without the tool the
# libraries are larger, and nothing else changes.
#
# vkf_shrink_commands() is for shaders/CMakeLists.txt, which has set VKF_GLSLANG.

find_program(VKF_SPIRV_OPT spirv-opt DOC "SPIR-V optimizer of SPIRV-Tools; without it the libraries are larger")

# Spelled out because -Os unrolls loops in some versions: whoever changes the passes measures the kernels' speed again.
set(vkf_spirv_opt_passes --preserve-bindings --preserve-spec-constants
    --eliminate-dead-branches --merge-return --inline-entry-points-exhaustive --eliminate-dead-functions
    --scalar-replacement=100 --convert-local-access-chains --eliminate-local-single-block --eliminate-local-single-store
    --simplify-instructions --eliminate-dead-code-aggressive --vector-dce --eliminate-dead-inserts
    --eliminate-dead-code-aggressive --eliminate-dead-branches --merge-blocks --ssa-rewrite --if-conversion
    --simplify-instructions --eliminate-dead-code-aggressive --vector-dce --eliminate-dead-inserts
    --redundancy-elimination --eliminate-dead-code-aggressive --cfg-cleanup --compact-ids)

# vkf_tool_works(<out> <source> <made> <command>...): whether a command turns one file into the other.
function(vkf_tool_works out source made)
    file(REMOVE ${made})
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    set(works FALSE)
    if(result EQUAL 0 AND EXISTS ${source} AND EXISTS ${made})
        set(works TRUE)
    endif()
    set(${out} ${works} PARENT_SCOPE)
endfunction()

# Whether the tool does its work, asked once.
set(question "${VKF_GLSLANG};${VKF_SPIRV_OPT};${vkf_spirv_opt_passes}")
if(NOT "${VKF_SHRINK_ASKED}" STREQUAL question)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/probe)
    file(WRITE ${probe}/shrink.comp "#version 450\nvoid main() {}\n")
    vkf_glsl_command(command ${VKF_GLSLANG} vulkan1.1 ${probe} shrink.comp ${probe}/shrink.spv)
    vkf_tool_works(compiled ${probe}/shrink.comp ${probe}/shrink.spv ${command})
    vkf_tool_works(small ${probe}/shrink.spv ${probe}/small.spv ${VKF_SPIRV_OPT} --target-env=vulkan1.1
        ${vkf_spirv_opt_passes} ${probe}/shrink.spv -o ${probe}/small.spv)
    if(NOT small)
        message(STATUS "No spirv-opt, or none with the passes for kernels: the libraries will be larger")
    endif()
    set(VKF_SHRINK ${small} CACHE INTERNAL "Whether modules are made smaller")
    set(VKF_SHRINK_ASKED ${question} CACHE INTERNAL "The tools that VKF_SHRINK tells of")
endif()

# vkf_shrink_commands(<out> <target> <module file>): the commands, for add_custom_command(), that make a compiled module
# smaller. The compiler writes the module file itself, so that its depfile has that name. Where spirv-opt fails there is
# no such file.
function(vkf_shrink_commands out target file)
    set(commands)
    if(VKF_SHRINK)
        get_filename_component(directory ${file} DIRECTORY)
        get_filename_component(name ${file} NAME)
        file(MAKE_DIRECTORY ${directory}/compiled)
        set(compiled ${directory}/compiled/${name})
        set(commands
            COMMAND ${CMAKE_COMMAND} -E rename ${file} ${compiled}
            COMMAND ${VKF_SPIRV_OPT} --target-env=${target} ${vkf_spirv_opt_passes} ${compiled} -o ${file})
    endif()
    set(${out} ${commands} PARENT_SCOPE)
endfunction()
