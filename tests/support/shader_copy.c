// Copies the shaders, edits and removes the copy.
#include "shader_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/directories.h"
#include "base/system_file.h"
#include "system/terminal.h"

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    assert_true(size > 0 && size < (1 << 20) - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static bool is_source(const char *name)
{
    static const char *const endings[] = {".comp", ".glsl", ".h"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(name), ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

// Copies the sources below a folder, which the copy has already.
static void copy_folder(const char *from, const char *to)
{
    vkf__listing *listing = vkf__listing_open(from);
    assert_non_null(listing);
    for (const char *name; (name = vkf__listing_next(listing)) != NULL;) {
        char source[512], target[512];
        (void)snprintf(source, sizeof source, "%s/%.200s", from, name);
        (void)snprintf(target, sizeof target, "%s/%.200s", to, name);
        if (is_source(name)) {
            char *text = read_text(source);
            write_text(target, text);
            free(text);
        } else if (!strchr(name, '.')) { // a folder
            assert_int_equal(vkf__directory_make(target, 0700), 0);
            copy_folder(source, target);
        }
    }
    vkf__listing_close(listing);
}

static void remove_folder(const char *path)
{
    vkf__listing *listing = vkf__listing_open(path);
    assert_non_null(listing);
    for (const char *name; (name = vkf__listing_next(listing)) != NULL;) {
        char inner[512];
        (void)snprintf(inner, sizeof inner, "%s/%.200s", path, name);
        if (vkf__file_remove(inner) != 0)
            remove_folder(inner);
    }
    vkf__listing_close(listing);
    (void)vkf__directory_remove(path);
}

void vkf_test_copy_shaders(vkf_shader_copy *copy)
{
    char temporary[64];
    assert_true(vkf_temporary_folder(temporary, sizeof temporary));
    (void)snprintf(copy->path, sizeof copy->path, "%s/vkformer-shaders-XXXXXX", temporary);
    assert_int_equal(vkf__directory_make_temporary(copy->path), 0);
    copy_folder(VKF_TEST_SHADERS, copy->path);
}

void vkf_test_remove_shaders(const vkf_shader_copy *copy)
{
    remove_folder(copy->path);
}

int vkf_test_edit_shader(const vkf_shader_copy *copy, const char *name, const char *from, const char *to)
{
    char path[512];
    int line = 1;
    (void)snprintf(path, sizeof path, "%s/%s", copy->path, name);
    char *text = read_text(path);
    char *at = strstr(text, from);
    if (!at)
        fail_msg("%s does not contain \"%s\"", name, from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *edited = malloc(size);
    assert_non_null(edited);
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    (void)snprintf(edited, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    write_text(path, edited);
    free(edited);
    free(text);
    return line;
}
