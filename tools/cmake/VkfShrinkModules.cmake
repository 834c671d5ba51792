# Modules become smaller, and ids get the same numbers where modules do the same, so that the modules of one source
# compress well together: of 4,479 kB that glslang writes spirv-opt leaves 3,459 kB; these take 385 kB in the library
# with ids alike and 691 kB without. All of it is optional: without the tools the libraries are larger, and nothing else
# changes.
#
# vkf_shrink_commands() is for shaders/CMakeLists.txt, which has set VKF_GLSLANG.

find_program(VKF_SPIRV_OPT spirv-opt DOC "SPIR-V optimizer of SPIRV-Tools; without it the libraries are larger")
find_program(VKF_SPIRV_REMAP spirv-remap DOC "glslang's tool that numbers ids alike, for a spirv-opt that cannot")

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

# Which of the tools do their work, asked once: VKF_SHRINK is NONE, OPT, OPT_REMAP or OPT_CANONICAL.
set(question "${VKF_GLSLANG};${VKF_SPIRV_OPT};${VKF_SPIRV_REMAP};${vkf_spirv_opt_passes}")
if(NOT "${VKF_SHRINK_ASKED}" STREQUAL question)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/probe)
    set(opt ${VKF_SPIRV_OPT} --target-env=vulkan1.1 ${vkf_spirv_opt_passes})
    set(found NONE)
    file(MAKE_DIRECTORY ${probe}/remapped)
    file(WRITE ${probe}/shrink.comp "#version 450\nvoid main() {}\n")
    vkf_glsl_command(command ${VKF_GLSLANG} vulkan1.1 ${probe}/shrink.comp ${probe}/shrink.spv)
    vkf_tool_works(compiled ${probe}/shrink.comp ${probe}/shrink.spv ${command})
    vkf_tool_works(small ${probe}/shrink.spv ${probe}/small.spv ${opt} ${probe}/shrink.spv -o ${probe}/small.spv)
    vkf_tool_works(canonical ${probe}/shrink.spv ${probe}/canonical.spv
        ${opt} --canonicalize-ids ${probe}/shrink.spv -o ${probe}/canonical.spv)
    vkf_tool_works(remapped ${probe}/small.spv ${probe}/remapped/small.spv
        ${VKF_SPIRV_REMAP} --map all -i ${probe}/small.spv -o ${probe}/remapped)
    if(canonical)
        set(found OPT_CANONICAL)
    elseif(small AND remapped)
        set(found OPT_REMAP)
    elseif(small)
        set(found OPT)
    endif()
    if(found STREQUAL "NONE" OR found STREQUAL "OPT")
        message(STATUS "No spirv-opt, or none with --canonicalize-ids and no spirv-remap: the libraries will be larger")
    endif()
    set(VKF_SHRINK ${found} CACHE INTERNAL "How modules are made smaller")
    set(VKF_SHRINK_ASKED ${question} CACHE INTERNAL "The tools that VKF_SHRINK tells of")
endif()

# vkf_shrink_commands(<out commands> <out compiled> <target> <module file> <source>): what the compiler is to write, and
# the commands, for add_custom_command(), that make the module file of it. A source with instructions that the compiler
# has no words for (GL_EXT_spirv_intrinsics) is not for spirv-remap, which ends on those that it does not know.
function(vkf_shrink_commands out_commands out_compiled target file source)
    file(STRINGS ${source} intrinsics REGEX "GL_EXT_spirv_intrinsics" LIMIT_COUNT 1)
    get_filename_component(directory ${file} DIRECTORY)
    get_filename_component(name ${file} NAME)
    set(compiled ${directory}/compiled/${name})
    set(opt COMMAND ${VKF_SPIRV_OPT} --target-env=${target} ${vkf_spirv_opt_passes})
    set(commands)
    if(VKF_SHRINK STREQUAL "NONE")
        set(compiled ${file})
    elseif(VKF_SHRINK STREQUAL "OPT" OR (VKF_SHRINK STREQUAL "OPT_REMAP" AND intrinsics))
        set(commands ${opt} ${compiled} -o ${file})
    elseif(VKF_SHRINK STREQUAL "OPT_CANONICAL")
        set(commands ${opt} --canonicalize-ids ${compiled} -o ${file})
    else() # spirv-remap keeps the name and takes a directory
        set(commands ${opt} ${compiled} -o ${directory}/small/${name}
            COMMAND ${VKF_SPIRV_REMAP} --map all -i ${directory}/small/${name} -o ${directory})
    endif()
    file(MAKE_DIRECTORY ${directory}/compiled ${directory}/small)
    set(${out_commands} ${commands} PARENT_SCOPE)
    set(${out_compiled} ${compiled} PARENT_SCOPE)
endfunction()
