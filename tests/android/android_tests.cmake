# Android without an NDK: where a folder with the command mksysroot is, which makes a sysroot of stubs.

if(DEFINED ENV{VKF_ANDROID_SYSROOT})
    set(sysroot_folder $ENV{VKF_ANDROID_SYSROOT})
else()
    get_filename_component(sysroot_folder ${PROJECT_SOURCE_DIR}/../shared/android ABSOLUTE)
endif()
set(VKF_ANDROID_SYSROOT ${sysroot_folder} CACHE PATH "Folder that has mksysroot, for the tests of Android")

set(android_work ${PROJECT_BINARY_DIR}/packaging/android)
# Phones are arm64; the other has the same sources and compiler, and is for where all tests run.
set(android_architectures arm64)
if(VKF_TEST_EVERY_PROFILE)
    list(APPEND android_architectures x86_64)
endif()
foreach(architecture IN LISTS android_architectures)
    vkf_add_packaging_test(android.${architecture} ${VKF_PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/test_link
                           ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${VKF_VULKAN_INCLUDE_DIR}
                           ${PROJECT_BINARY_DIR}/shaders ${android_work} android-${architecture} ${architecture}
                           ${VKF_ANDROID_SYSROOT})
    set_tests_properties(android.${architecture} PROPERTIES FIXTURES_SETUP android SKIP_RETURN_CODE 77 TIMEOUT 1200
                         COST 50)
endforeach()

vkf_add_packaging_test(android.aar ${VKF_PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/test_aar ${CMAKE_COMMAND}
                       ${PROJECT_SOURCE_DIR} ${android_work} ${android_architectures})
set_tests_properties(android.aar PROPERTIES FIXTURES_REQUIRED android SKIP_RETURN_CODE 77)

# The sample on a JVM, with the library for this system.
vkf_add_packaging_test(android.jni ${CMAKE_CURRENT_LIST_DIR}/test_jni ${CMAKE_COMMAND} ${CMAKE_C_COMPILER}
                       ${PROJECT_SOURCE_DIR} ${release} ${android_work}/jni)
set_tests_properties(android.jni PROPERTIES FIXTURES_REQUIRED release SKIP_RETURN_CODE 77)
