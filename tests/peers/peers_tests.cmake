# Cases of other projects' tests, by the package for Python: by references all of ONNX's node tests and many of the
# grids of ggml and ncnn, on lavapipe some of both, and where all tests run all of them.
set(run_cases ${CMAKE_CURRENT_LIST_DIR}/run_cases ${PROJECT_SOURCE_DIR} ${release}/python/venv)
set(grids_sample --sample 200)
set(driver_sample --sample 40)
if(VKF_TEST_EVERY_PROFILE)
    set(driver_sample "")
endif()
foreach(name onnx grids)
    vkf_add_reference_test(peers.${name} peers full ${run_cases} ${name} --device reference ${${name}_sample})
    vkf_add_gpu_test(peers.${name} peers lavapipe full ${run_cases} ${name} --device cpu ${driver_sample})
    set_tests_properties(peers.${name}.reference peers.${name}.lavapipe.full PROPERTIES FIXTURES_REQUIRED python)
endforeach()
