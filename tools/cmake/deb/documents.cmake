# Run by CPack before it packs: adds what Debian wants to find in each package's documentation (copyright, changelogs),
# and compresses the manual page.

function(compress file)
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
file(READ ${CPACK_RESOURCE_FILE_LICENSE} license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" copyright "${license}")
set(copyright "${CMAKE_MATCH_1}")
string(REGEX REPLACE "^.*Copyright[^\n]*\n\n" "" license "${license}")
string(REGEX REPLACE "\n+$" "" license "${license}")
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(pair IN LISTS CPACK_VKF_PACKAGES)
    string(REGEX MATCH "^(.*)=(.*)$" pair ${pair})
    set(package ${CMAKE_MATCH_2})
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${CMAKE_MATCH_1}/usr)
    if(NOT EXISTS ${root})
        continue()
    endif()
    file(REMOVE_RECURSE ${root}/share/doc)
    set(documents ${root}/share/doc/${package})
    file(WRITE ${documents}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: vkformer\n\nFiles: *\nCopyright: ${copyright}\nLicense: Expat\n\n"
        "License: Expat\n ${license}\n")
    file(WRITE ${documents}/changelog.Debian "vkformer (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) "
        "unstable; urgency=medium\n\n  * Built from the sources of this version.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
    compress(${documents}/changelog.Debian)
    file(COPY_FILE ${CPACK_VKF_CHANGELOG} ${documents}/changelog)
    compress(${documents}/changelog)
    file(GLOB_RECURSE pages ${root}/share/man/*.1)
    foreach(page IN LISTS pages)
        compress(${page})
    endforeach()
endforeach()
