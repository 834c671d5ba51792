# The kernels' modules: what the list of them is written with, and what their content hangs on. Used by the build
# (shaders/CMakeLists.txt) and by scripts; whoever includes this defines
#
#   vkf_add_variant(<shader> <source> TYPES <type>... [DEFINES <define>...] [NEEDS <extension>...])
#
# which is called for every module.

# VKF_SHADER_FLAGS: what glslang compiles every module with, besides its own defines and target.
set(VKF_SHADER_FLAGS -V --quiet -g0 -DVKF_GLSL=1)

# vkf_glsl_command(<out> <compiler> <target> <directory> <source> <module file> <define>...): the command that compiles
# a file below shaders/, with glslang or with glslc, which the Android NDK has.
function(vkf_glsl_command out compiler target directory source module)
    set(defines ${ARGN})
    list(TRANSFORM defines PREPEND "-D")
    set(flags ${VKF_SHADER_FLAGS} --target-env ${target})
    list(GET compiler -1 program)
    get_filename_component(program "${program}" NAME)
    if(program MATCHES "^glslc(\\.exe)?$")
        set(flags -w -DVKF_GLSL=1 --target-env=${target})
    endif()
    set(${out} ${compiler} ${flags} -I${directory} ${defines} ${directory}/${source} -o ${module} PARENT_SCOPE)
endfunction()

# vkf_glsl_depfile_flags(<out> <compiler> <depfile>): what makes that command write what the module was made of, too.
function(vkf_glsl_depfile_flags out compiler depfile)
    set(flags --depfile ${depfile})
    if(compiler MATCHES "glslc(\\.exe)?$")
        set(flags -MD -MF ${depfile})
    endif()
    set(${out} ${flags} PARENT_SCOPE)
endfunction()

# vkf_shader_target(<out> <extension>...): glslang's target environment for a module that needs these extensions.
function(vkf_shader_target out)
    set(target vulkan1.1)
    if("GL_NV_cooperative_matrix2" IN_LIST ARGN)
        set(target vulkan1.3) # defined for SPIR-V 1.6 alone
    endif()
    set(${out} ${target} PARENT_SCOPE)
endfunction()

# vkf_add_shader([<folder>/]<shader> [SOURCE <file>] PARAMETERS <X>... TYPES <type,...>... [DEFINES <define>...]
#                [NEEDS <extension>...])
# adds one module per entry of TYPES, which gives each TYPE_<X> its element type. An entry with "h" stands for two: f16,
# and f16p for devices without 16-bit storage. NEEDS: GLSL extensions that old compilers do not know.
macro(vkf_add_shader shader)
    cmake_parse_arguments(arg "" "SOURCE" "PARAMETERS;TYPES;DEFINES;NEEDS" ${ARGN})
    get_filename_component(arg_FOLDER ${shader} DIRECTORY)
    get_filename_component(arg_NAME ${shader} NAME)
    if(NOT arg_SOURCE)
        set(arg_SOURCE ${arg_NAME}.comp)
    endif()
    if(arg_FOLDER)
        string(PREPEND arg_SOURCE ${arg_FOLDER}/)
    endif()
    set(entries)
    foreach(entry IN LISTS arg_TYPES)
        string(REGEX REPLACE "(^|,)h" "\\1f16" single "${entry}")
        string(REGEX REPLACE "(^|,)h" "\\1f16p" packed "${entry}")
        list(APPEND entries ${single} ${packed})
    endforeach()
    list(REMOVE_DUPLICATES entries)
    foreach(entry IN LISTS entries)
        string(REPLACE "," ";" types "${entry}")
        set(defines)
        foreach(parameter type IN ZIP_LISTS arg_PARAMETERS types)
            list(APPEND defines TYPE_${parameter}=${type})
        endforeach()
        vkf_add_variant(${arg_NAME} ${arg_SOURCE} TYPES ${types} DEFINES ${defines} ${arg_DEFINES} NEEDS ${arg_NEEDS})
    endforeach()
endmacro()

# vkf_shader_files(<out> <directory> <file>): a source and all that it includes, below shaders/. Names are looked up
# beside the including file, as glslang does, then in <directory>.
function(vkf_shader_files out directory file)
    set(files)
    set(open ${file})
    while(open)
        list(POP_FRONT open next)
        list(APPEND files ${next})
        file(STRINGS ${directory}/${next} lines REGEX "^[ \t]*#include[ \t]*\"")
        get_filename_component(beside ${next} DIRECTORY)
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1" name "${line}")
            if(beside AND EXISTS ${directory}/${beside}/${name})
                set(name ${beside}/${name})
            endif()
            if(NOT name IN_LIST files AND NOT name IN_LIST open)
                list(APPEND open ${name})
            endif()
        endforeach()
    endwhile()
    set(${out} ${files} PARENT_SCOPE)
endfunction()

# vkf_shader_hash(<out> <directory> <source> <target> <define>...): SHA-256 of all that a module's content hangs on
# but the compiler. Comments and empty lines count for nothing: modules hold no line numbers.
function(vkf_shader_hash out directory source target)
    vkf_shader_files(files ${directory} ${source})
    set(text "${VKF_SHADER_FLAGS} ${target} ${ARGN}")
    foreach(file IN LISTS files)
        file(READ ${directory}/${file} content)
        string(REGEX REPLACE "//[^\n]*" "" content "${content}")
        string(REGEX REPLACE "[ \t\r]*\n[ \t\r\n]*" "\n" content "${content}")
        string(APPEND text "\n${file}\n${content}")
    endforeach()
    string(SHA256 hash "${text}")
    set(${out} ${hash} PARENT_SCOPE)
endfunction()

# vkf_glslang_knows(<out> <glslang> <extension> <scratch directory>): whether a compiler knows an extension. A module
# made of it stays in the scratch directory as <extension>.spv.
function(vkf_glslang_knows out glslang extension scratch)
    set(probe ${scratch}/${extension})
    vkf_shader_target(target ${extension})
    file(WRITE ${probe}.comp "#version 450\n#extension ${extension} : require\nvoid main() {}\n")
    file(REMOVE ${probe}.spv)
    vkf_glsl_command(command "${glslang}" ${target} ${scratch} ${extension}.comp ${probe}.spv)
    execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    set(known FALSE)
    if(result EQUAL 0 AND EXISTS ${probe}.spv)
        set(known TRUE)
    endif()
    set(${out} ${known} PARENT_SCOPE)
endfunction()

# vkf_glslang_writes_depfiles(<out> <compiler> <scratch directory>)
function(vkf_glslang_writes_depfiles out compiler scratch)
    set(probe ${scratch}/depfile)
    file(WRITE ${probe}.comp "#version 450\nvoid main() {}\n")
    file(REMOVE ${probe}.d)
    vkf_glsl_command(command "${compiler}" vulkan1.1 ${scratch} depfile.comp ${probe}.spv)
    vkf_glsl_depfile_flags(flags "${compiler}" ${probe}.d)
    execute_process(COMMAND ${command} ${flags} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    set(writes FALSE)
    if(result EQUAL 0 AND EXISTS ${probe}.d)
        set(writes TRUE)
    endif()
    set(${out} ${writes} PARENT_SCOPE)
endfunction()

# vkf_prebuilt_entry(<out hash> <out compiler> <directory> <module>): a module's line of
# shaders/prebuilt/manifest.txt, which is "<module> <hash> <compiler>"; empty when there is none. The line of
# modules.tar.xz, in which the modules lie, has the hash of that file itself.
function(vkf_prebuilt_entry out_hash out_compiler directory module)
    set(hash "")
    set(compiler "")
    set(manifest ${directory}/prebuilt/manifest.txt)
    if(EXISTS ${manifest})
        file(STRINGS ${manifest} lines)
        foreach(line IN LISTS lines)
            if(line MATCHES "^([^ #]+) ([0-9a-f]+) (.*)$" AND CMAKE_MATCH_1 STREQUAL module)
                set(hash ${CMAKE_MATCH_2})
                set(compiler ${CMAKE_MATCH_3})
            endif()
        endforeach()
    endif()
    set(${out_hash} "${hash}" PARENT_SCOPE)
    set(${out_compiler} "${compiler}" PARENT_SCOPE)
endfunction()
