# The Rust crates, by the distribution's cargo where there is one: it is the oldest that has to do.

vkf_add_gpu_test(bindings.rust bindings lavapipe full ${CMAKE_CURRENT_LIST_DIR}/test_rust
                 ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/rust)
add_test(NAME bindings.rust_headers COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_rust_headers ${PROJECT_SOURCE_DIR}
                                            ${CMAKE_CURRENT_BINARY_DIR}/rust_headers)
set_tests_properties(bindings.rust_headers PROPERTIES LABELS bindings TIMEOUT 300 SKIP_RETURN_CODE 77)
