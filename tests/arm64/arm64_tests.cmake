# Linux on arm64, cross-built and emulated: programs whose few kernels the emulated driver compiles in seconds, and all
# of tests/gpu where VKF_TEST_ALL is set.
set(VKF_ARM64_ROOT ${PROJECT_BINARY_DIR}/chroot-arm64 CACHE PATH "Packages for arm64, unpacked by tools/vendors")
set(emulated_programs unit_blocks unit_half gpu_device gpu_op_cases)
set(emulated_timeout 1800)
if(VKF_TEST_EVERY_PROFILE)
    set(emulated_timeout 43200)
endif()
add_test(NAME arm64 COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_emulated ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR}
         ${VKF_ARM64_ROOT} ${PROJECT_BINARY_DIR}/shaders ${PROJECT_BINARY_DIR}/packaging/arm64 ${emulated_programs})
set_tests_properties(arm64 PROPERTIES LABELS "gpu;arm64" TIMEOUT ${emulated_timeout} SKIP_RETURN_CODE 77 COST 100)
