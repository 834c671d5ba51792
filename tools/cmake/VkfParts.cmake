# The parts of the library, which VKF_PARTS chooses from. Sets
#   VKF_PARTS_BUILT       those that are built, each with what it stands on
#   VKF_PARTS_LEFT_OUT    the others
# and defines vkf_part_sources() and vkf_write_stubs().
#
# core has what computes: operators and layers. models reads checkpoints and runs models, and text makes ids of texts
# and texts of ids. Each stands on those before it.
set(VKF_ALL_PARTS core models text)
set(VKF_PARTS "${VKF_ALL_PARTS}" CACHE STRING "Parts of the library: core, models, text; each brings those before it")

set(VKF_PARTS_BUILT core)
set(VKF_PARTS_LEFT_OUT "")
foreach(part IN LISTS VKF_PARTS)
    if(NOT part IN_LIST VKF_ALL_PARTS)
        message(FATAL_ERROR "VKF_PARTS: '${part}' is no part of the library; there are core, models and text")
    endif()
endforeach()
foreach(part models text)
    if(part IN_LIST VKF_PARTS OR (part STREQUAL "models" AND "text" IN_LIST VKF_PARTS))
        list(APPEND VKF_PARTS_BUILT ${part})
    else()
        list(APPEND VKF_PARTS_LEFT_OUT ${part})
    endif()
endforeach()

# What lies on floors that several parts share. All else on the floors model and io, and nothing else in api, is of
# models.
set(vkf_text_sources text/*.c
    model/embedder.c model/generator.c model/id_check.c model/inspection.c model/results.c model/stop_strings.c
    model/text_model.c model/text_stream.c model/tokenizer_config.c
    api/public_embed.c api/public_generator.c api/public_tokenizer.c)
set(vkf_models_sources io/*.c model/*.c vk/described.c
    api/device_description.c api/generate.c api/interop_session.c api/plan_dispatches.c api/public_model.c api/public_session.c
    api/public_session_tokens.c api/public_vocabulary.c)

# vkf_part_sources(<out> <directory> <part> <all source>...): those of the sources that belong to a part.
function(vkf_part_sources out directory part)
    foreach(other models text)
        list(TRANSFORM vkf_${other}_sources PREPEND ${directory}/ OUTPUT_VARIABLE patterns)
        file(GLOB ${other} RELATIVE ${directory} ${patterns})
    endforeach()
    list(REMOVE_ITEM models ${text})
    set(core ${ARGN})
    list(REMOVE_ITEM core ${models} ${text})
    set(${out} ${${part}} PARENT_SCOPE)
endfunction()

# vkf_public_functions(<out> <header>...): the declarations in public headers, each as "TYPE|NAME|PARAMETERS".
function(vkf_public_functions out)
    set(functions "")
    foreach(header IN LISTS ARGN)
        file(READ ${header} text)
        string(REGEX REPLACE "//[^\n]*" "" text "${text}")
        string(REPLACE "\\\n" "" text "${text}")
        string(REGEX REPLACE "\n#[^\n]*" "" text "${text}")
        string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")
        string(REPLACE ";" "@" text "${text}")
        string(REGEX MATCHALL "VKF_API [^@{}]*@" declarations "${text}")
        foreach(declaration IN LISTS declarations)
            if(NOT declaration MATCHES "^VKF_API (VKF_MUST_CHECK )?(.*[ *])(vkf_[a-z0-9_]+)\\(([^()]*)\\) ?@$")
                message(FATAL_ERROR "${header}: this declaration has a form that tools/cmake/VkfParts.cmake does not "
                                    "know: ${declaration}")
            endif()
            string(STRIP "${CMAKE_MATCH_2}" type)
            list(APPEND functions "${type}|${CMAKE_MATCH_3}|${CMAKE_MATCH_4}")
        endforeach()
    endforeach()
    set(${out} "${functions}" PARENT_SCOPE)
endfunction()

# vkf_stub(<out> <type> <name> <parameters> <part>): a function that says that its part is not there. It has a voice
# where its first argument has one: a context, or a descriptor with callbacks.
function(vkf_stub out type name parameters part)
    set(host NULL)
    set(before "")
    set(unused "")
    string(REPLACE "," ";" list "${parameters}")
    foreach(parameter IN LISTS list)
        string(REGEX MATCH "[a-z0-9_]+$" argument "${parameter}")
        if(NOT argument STREQUAL "void")
            string(APPEND unused "    (void)${argument};\n")
        endif()
    endforeach()
    if(parameters MATCHES "^(const )?vkf_context \\*context(,|$)")
        set(host "context ? &context->host : NULL")
    elseif(parameters MATCHES "^const vkf_[a-z_]+_desc \\*desc(,|$)")
        string(CONCAT before "    vkf__host host;\n    const vkf__host *told = desc && desc_bytes >= sizeof *desc\n"
            "        ? vkf__missing_part_host(&desc->allocator, desc->message, desc->message_user, "
            "desc->min_severity, &host) : NULL;\n")
        set(host told)
    endif()
    set(result "    return 0;\n")
    if(type STREQUAL "vkf_status")
        string(REGEX REPLACE "_sized$" "" called "${name}") # what programs call is inline
        set(result "${before}    return vkf__missing_part(${host}, \"${called}\", \"${part}\");\n")
    elseif(type STREQUAL "void")
        set(result "")
        if(parameters MATCHES "\\*(out_[a-z_]+)(, size_t ([a-z_]+_bytes))?$")
            set(bytes "sizeof *${CMAKE_MATCH_1}")
            if(CMAKE_MATCH_3)
                set(bytes ${CMAKE_MATCH_3})
            endif()
            set(result "    if (${CMAKE_MATCH_1})\n        memset(${CMAKE_MATCH_1}, 0, ${bytes});\n")
        endif()
    elseif(type MATCHES "\\*$")
        set(result "    return NULL;\n")
    elseif(type STREQUAL "int32_t")
        set(result "    return -1;\n") # no id
    endif()
    set(${out} "\n${type} ${name}(${parameters})\n{\n${unused}${result}}\n" PARENT_SCOPE)
endfunction()

# vkf_write_stubs(<out source> <directory> <part> <source>...): writes a file that defines every public function that
# the sources of a part define, which is left out.
function(vkf_write_stubs out directory part)
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/vkformer/*.h
         ${PROJECT_SOURCE_DIR}/include/vkformer/sized/*.h)
    vkf_public_functions(functions ${headers})
    set(text "// Generated by tools/cmake/VkfParts.cmake.\n#include <string.h>\n\n#include \"base/missing_part.h\"\n")
    string(APPEND text "#include \"kernel/context.h\"\n\n#include <vkformer/vulkan.h>\n")
    set(defined "")
    foreach(source IN LISTS ARGN)
        file(READ ${directory}/${source} code)
        string(REGEX REPLACE "[][;]" "@" code "${code}")
        string(REGEX MATCHALL "\n[a-z][A-Za-z0-9_ ]*[ *]vkf_[a-z0-9]+(_[a-z0-9]+)*\\(" heads "${code}")
        list(TRANSFORM heads REPLACE "^.*[ *](vkf_[a-z0-9_]+)\\($" "\\1")
        list(APPEND defined ${heads})
        set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${directory}/${source})
    endforeach()
    foreach(function IN LISTS functions)
        string(REGEX MATCH "^(.*)\\|(.*)\\|(.*)$" function "${function}")
        set(name "${CMAKE_MATCH_2}")
        if(name IN_LIST defined)
            vkf_stub(stub "${CMAKE_MATCH_1}" ${name} "${CMAKE_MATCH_3}" ${part})
            string(APPEND text "${stub}")
        endif()
    endforeach()
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/missing_${part}.c)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    set(${out} ${file} PARENT_SCOPE)
endfunction()
