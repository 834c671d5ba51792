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

// Copies the sources of one folder, or removes what a copy holds when `remove_all` is set.
static void walk(const vkf_shader_copy *copy, const char *folder, bool remove_all)
{
    char from[512], to[512];
    (void)snprintf(from, sizeof from, "%s/%s", remove_all ? copy->path : VKF_TEST_SHADERS, folder);
    vkf__listing *listing = vkf__listing_open(from);
    assert_non_null(listing);
    for (const char *name; (name = vkf__listing_next(listing)) != NULL;) {
        if (!is_source(name))
            continue;
        (void)snprintf(to, sizeof to, "%s/%s/%.200s", copy->path, folder, name);
        if (remove_all) {
            (void)vkf__file_remove(to);
            continue;
        }
        (void)snprintf(from, sizeof from, "%s/%s/%.200s", VKF_TEST_SHADERS, folder, name);
        char *text = read_text(from);
        write_text(to, text);
        free(text);
    }
    vkf__listing_close(listing);
}

// A folder stands behind the one that it is in.
static const char *const folders[] = {".",    "include", "shared",   "attention", "flat",          "gemm",
                                      "roof", "rows",    "software", "train",     "train/software"};
#define FOLDERS (sizeof folders / sizeof folders[0])

void vkf_test_copy_shaders(vkf_shader_copy *copy)
{
    char path[300], temporary[64];
    assert_true(vkf_temporary_folder(temporary, sizeof temporary));
    (void)snprintf(copy->path, sizeof copy->path, "%s/vkformer-shaders-XXXXXX", temporary);
    assert_int_equal(vkf__directory_make_temporary(copy->path), 0);
    for (size_t i = 0; i < FOLDERS; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", copy->path, folders[i]);
        assert_true(i == 0 || vkf__directory_make(path, 0700) == 0);
        walk(copy, folders[i], false);
    }
}

void vkf_test_remove_shaders(const vkf_shader_copy *copy)
{
    char path[300];
    for (size_t i = FOLDERS; i-- > 0;) {
        walk(copy, folders[i], true);
        (void)snprintf(path, sizeof path, "%s/%s", copy->path, folders[i]);
        (void)vkf__directory_remove(i > 0 ? path : copy->path);
    }
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
