# The check of shaders/prebuilt finds what is stale, and nothing else: each case changes one thing in a copy of the
# sources. SHADERS: the directory shaders/. SCRATCH: a directory of the test's own.

cmake_minimum_required(VERSION 3.22)

set(tools ${CMAKE_CURRENT_LIST_DIR}/../../tools/cmake)
set(module gemm_coopmat.f16_f16_f32)
include(${tools}/VkfShaderModules.cmake)

# An own small set of modules and an own manifest, so that the test says nothing about the real ones.
function(make_copy)
    file(REMOVE_RECURSE ${SCRATCH})
    file(COPY ${SHADERS}/gemm/gemm_coopmat.comp ${SHADERS}/include ${SHADERS}/shared DESTINATION ${SCRATCH})
    file(WRITE ${SCRATCH}/prebuilt/modules.cmake
        "vkf_add_shader(gemm_coopmat PARAMETERS A B D TYPES f16,f16,f32 NEEDS GL_KHR_cooperative_matrix)\n")
    vkf_shader_hash(hash ${SCRATCH} gemm_coopmat.comp vulkan1.1 TYPE_A=f16 TYPE_B=f16 TYPE_D=f32)
    file(WRITE ${SCRATCH}/prebuilt/modules.tar.xz "modules")
    file(SHA256 ${SCRATCH}/prebuilt/modules.tar.xz packed)
    file(WRITE ${SCRATCH}/prebuilt/manifest.txt
        "# a comment\nmodules.tar.xz ${packed} CMake 3.22.0\n${module} ${hash} glslang 16.0.0\n")
endfunction()

# expect_check(<passes> <what was done>)
function(expect_check passes what)
    execute_process(COMMAND ${CMAKE_COMMAND} -DSHADERS=${SCRATCH} -P ${tools}/check_prebuilt.cmake
        RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
    set(passed FALSE)
    if(result EQUAL 0)
        set(passed TRUE)
    endif()
    if(NOT passed STREQUAL passes)
        message(SEND_ERROR "${what}: expected pass ${passes}, got ${passed}\n${text}")
    elseif(NOT passes AND NOT text MATCHES "tools/prebuild-shaders")
        message(SEND_ERROR "${what}: the message does not say what to do\n${text}")
    endif()
endfunction()

# replace_in(<file> <from> <to>): fails when there is nothing to replace, or the case would test nothing.
function(replace_in file from to)
    file(READ ${SCRATCH}/${file} content)
    string(REPLACE "${from}" "${to}" changed "${content}")
    if(changed STREQUAL content)
        message(SEND_ERROR "${file} holds no '${from}'")
    endif()
    file(WRITE ${SCRATCH}/${file} "${changed}")
endfunction()

make_copy()
expect_check(TRUE "unchanged")

replace_in(gemm_coopmat.comp "void main()" "// why\n\nvoid main()  // what\n")
expect_check(TRUE "a comment, blanks and an empty line more")
replace_in(gemm_coopmat.comp "void main()" "void main( )")
expect_check(FALSE "the source changed")

make_copy()
replace_in(include/math.glsl "0.5 * x" "0.25 * x")
expect_check(FALSE "an included file changed")

make_copy()
replace_in(shared/types.h "#define VKF_BINDING_PARAMS 0" "#define VKF_BINDING_PARAMS 9")
expect_check(FALSE "a file included by an included file changed")

make_copy()
replace_in(prebuilt/modules.cmake "NEEDS" "DEFINES EXTRA=1 NEEDS")
expect_check(FALSE "a define more")

make_copy()
replace_in(prebuilt/modules.cmake "GL_KHR_cooperative_matrix" "GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2")
expect_check(FALSE "another target")

make_copy()
file(REMOVE ${SCRATCH}/prebuilt/modules.tar.xz)
expect_check(FALSE "the modules are missing")

make_copy()
file(APPEND ${SCRATCH}/prebuilt/modules.tar.xz "more")
expect_check(FALSE "other modules than the manifest was written with")

make_copy()
replace_in(prebuilt/manifest.txt "${module} " "# ")
expect_check(FALSE "the manifest does not list it")

make_copy()
file(APPEND ${SCRATCH}/prebuilt/manifest.txt "other.f32 0123 glslang 16.0.0\n")
expect_check(FALSE "a module that no list has")

file(REMOVE_RECURSE ${SCRATCH})
