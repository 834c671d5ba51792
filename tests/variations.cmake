# The tests of kernels once more on lavapipe as it is not by itself: with subgroups of 4 and of 16 lanes, with the
# limits of small GPUs, all at once, and with the traits of a GPU, whose code it then runs. Names are
# <directory>.<name>.<variation>.lavapipe.full. In the ordinary run only what takes seconds; with VKF_TEST_EVERY_PROFILE
# every operator, layer and model, and the self-test for every kernel; every config of each is for the tests without
# a variation. LLVM optimises none of it: what that does to kernels those show, too.

# vkf_add_variation(<variation> <directory> <pattern> <environment>...): the tests of a directory whose names match.
function(vkf_add_variation variation directory pattern)
    file(GLOB sources CONFIGURE_DEPENDS ${directory}/test_*.c)
    foreach(source IN LISTS sources)
        get_filename_component(name ${source} NAME_WE)
        string(REGEX REPLACE "^test_" "" name ${name})
        if(name MATCHES "^(${pattern})$" AND NOT name IN_LIST whole_tests)
            set(test ${directory}.${name}.${variation})
            vkf_add_gpu_test(${test} ${directory} lavapipe full $<TARGET_FILE:${directory}_${name}>)
            set_property(TEST ${test}.lavapipe.full APPEND PROPERTY ENVIRONMENT GALLIVM_PERF=nopt VKF_TEST_BRIEF=1 ${ARGN})
        endif()
    endforeach()
endfunction()

set(limits "bufferDeviceAddress" "maxComputeWorkGroupCount[0]=65535" "maxMemoryAllocationSize=1073741824"
    "maxComputeSharedMemorySize=32768" "maxStorageBufferRange=134217728")
list(JOIN limits "," limits)
set(width_gpu "device|op_attention")
set(limits_gpu "op_(cases|limits|tokens)")
set(as_gpu_gpu "counters|decode_cost|memory")
set(width_model "")
set(limits_model "")
set(as_gpu_model "session|session_interop")
if(VKF_TEST_EVERY_PROFILE)
    set(width_gpu "self_test|device|kernel_report|op_.*|layer_.*")
    set(limits_gpu "self_test|op_.*|layer_.*")
    set(width_model "decoder|encoder.*|quantized|sentence_model|session.*")
    set(limits_model ".*")
    set(as_gpu_gpu ".*")
    set(as_gpu_model ".*")
endif()
# Sanitizers see none of what a width or a limit changes.
if(NOT VKF_SANITIZE)
    # A vector of so many bits of floats is a subgroup. 512 bits take AVX-512. Layers would see nothing new.
    foreach(bits 128 512)
        math(EXPR lanes "${bits} / 32")
        # Mesa's cache does not tell code for one width from code for another.
        set(environment "LP_NATIVE_VECTOR_WIDTH=${bits}" "VKF_TEST_SUBGROUP_SIZE=${lanes}" "VKF_TEST_VALIDATION=0"
            "MESA_SHADER_CACHE_DIR=${shader_cache}/width${bits}")
        set(width_tests "${width_gpu}")
        if(bits EQUAL 128)
            # The smallest subgroup is the hard case, and for 16 lanes LLVM takes longer.
            string(APPEND width_tests "|op_(attention_decode|cases|gemm|pool)")
        endif()
        vkf_add_variation(width${bits} gpu "${width_tests}" ${environment})
        vkf_add_variation(width${bits} model "${width_model}" ${environment})
    endforeach()
    vkf_add_variation(limits gpu "${limits_gpu}" "VKF_TEST_MASKS=${limits}")
    vkf_add_variation(limits model "${limits_model}" "VKF_TEST_MASKS=${limits}")
    vkf_add_variation(as_gpu gpu "${as_gpu_gpu}" "VKF_TEST_AS_GPU=1")
    vkf_add_variation(as_gpu model "${as_gpu_model}" "VKF_TEST_AS_GPU=1")
endif()

# Races in shared memory, as the Khronos validation layer finds them: minutes. The first test is of the pass itself.
vkf_test_programs(races test names)
if(VKF_TEST_EVERY_PROFILE AND NOT VKF_SANITIZE)
    set(run_race_pass ${CMAKE_CURRENT_SOURCE_DIR}/races/run_race_pass ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/chroot)
    add_test(NAME races.missing_barrier COMMAND ${run_race_pass} $<TARGET_FILE:races_missing_barrier>)
    set_tests_properties(races.missing_barrier PROPERTIES ENVIRONMENT "VKF_TEST_VALIDATION=1")
    set(tests races.missing_barrier)
    foreach(profile IN LISTS end_profiles)
        add_test(NAME races.self_test.${profile} COMMAND ${run_race_pass} $<TARGET_FILE:gpu_self_test>)
        set_tests_properties(races.self_test.${profile} PROPERTIES
                             ENVIRONMENT "VKF_TEST_PROFILE=${profile};VKF_TEST_VALIDATION=0")
        list(APPEND tests races.self_test.${profile})
    endforeach()
    # They may have to fetch the layer, which two at a time must not.
    set_tests_properties(${tests} PROPERTIES LABELS "gpu;races" TIMEOUT 1800 SKIP_RETURN_CODE 77 COST 100
                         RESOURCE_LOCK chroot)
endif()
