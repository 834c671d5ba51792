# What `cpack -G DEB` makes of a build, by the components of VkfInstall.cmake: libvkformer0.1, libvkformer-dev and, with
# the program, vkformer. With CMAKE_INSTALL_PREFIX=/usr libraries go where Debian has those of the processor.

set(VKF_PACKAGE_CONTACT "vkformer authors <maintainers@vkformer.example>"
    CACHE STRING "Whom packages name as their maintainer: NAME <ADDRESS>")
mark_as_advanced(VKF_PACKAGE_CONTACT)

set(CPACK_PACKAGE_NAME vkformer)
set(CPACK_PACKAGE_CONTACT ${VKF_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # the first line of each package's own description
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)

# A component that has no package of its own is for those who build programs, as the other headers are.
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
get_cmake_property(components COMPONENTS)
list(REMOVE_ITEM components Unspecified)
set(CPACK_COMPONENTS_ALL ${components})
foreach(component IN LISTS components)
    string(TOUPPER ${component} upper)
    set(CPACK_COMPONENT_${upper}_GROUP development)
endforeach()
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_COMPONENT_PROGRAM_GROUP program)

set(library_package libvkformer${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
string(CONCAT about "vkformer runs Transformer models and their layers on whatever device has\n"
                    "Vulkan 1.1, the processor included. ")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
    "Transformer backend on Vulkan compute, library\n${about}This package has the shared library.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/deb/triggers)
# The loader is opened at run time, where shlibdeps does not see it.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libvulkan1, mesa-vulkan-drivers | vulkan-icd")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libvkformer-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "Transformer backend on Vulkan compute, development files\n${about}This package has the headers, the\n"
    "static library, the CMake package and the file for pkg-config.")
# <vkformer/vulkan.h> includes Vulkan's own headers.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${library_package} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libvulkan-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS ON) # of the plug-in that compiles GLSL, where it is built
# A program that takes the archive links what the archive uses.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libjansson-dev, libpcre2-dev, libutf8proc-dev, zlib1g-dev")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME vkformer)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
string(CONCAT CPACK_DEBIAN_PROGRAM_DESCRIPTION
    "Transformer backend on Vulkan compute, program\n${about}This package has the program,\n"
    "which runs text models and sentence embeddings, and measures what they cost.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "${CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS}")

# Names and texts that every package of Debian has in its documentation.
set(CPACK_VKF_PACKAGES library=${library_package} development=libvkformer-dev program=vkformer)
set(CPACK_VKF_CHANGELOG ${PROJECT_SOURCE_DIR}/docs/changelog.md)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/deb/documents.cmake)
include(CPack)
