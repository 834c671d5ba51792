// Keeps blobs in a list, by their keys.
#include "blob_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

vkf_blob *vkf_blob_find(vkf_blob_store *store, const char *prefix)
{
    for (size_t i = 0; i < store->count; i++) {
        if (strncmp(store->blobs[i].key, prefix, strlen(prefix)) == 0)
            return &store->blobs[i];
    }
    return NULL;
}

void vkf_blob_put(vkf_blob_store *store, const char *key, const void *data, size_t size_bytes)
{
    vkf_blob *b = vkf_blob_find(store, key);
    if (!b) {
        if (store->count == VKF_TEST_MAX_BLOBS)
            return;
        b = &store->blobs[store->count++];
        (void)snprintf(b->key, sizeof b->key, "%s", key);
    }
    uint8_t *copy = malloc(size_bytes > 0 ? size_bytes : 1);
    if (!copy)
        return;
    if (size_bytes > 0)
        memcpy(copy, data, size_bytes);
    free(b->data);
    b->data = copy;
    b->size_bytes = size_bytes;
}

static size_t load(void *user, const char *key, void *data, size_t capacity)
{
    vkf_blob_store *store = user;
    const vkf_blob *b = vkf_blob_find(store, key);
    store->loads++;
    if (b && data && capacity >= b->size_bytes)
        memcpy(data, b->data, b->size_bytes);
    return b ? b->size_bytes : 0;
}

static void save(void *user, const char *key, const void *data, size_t size_bytes)
{
    vkf_blob_store *store = user;
    store->saves++;
    vkf_blob_put(store, key, data, size_bytes);
}

vkf_cache_callbacks vkf_blob_store_callbacks(vkf_blob_store *store)
{
    return (vkf_cache_callbacks){load, save, store};
}

void vkf_blob_store_clear(vkf_blob_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        free(store->blobs[i].data);
    *store = (vkf_blob_store){0};
}

char *vkf_blob_text(vkf_blob_store *store, const char *prefix)
{
    const vkf_blob *b = vkf_blob_find(store, prefix);
    size_t size = b ? b->size_bytes : 0;
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    if (size > 0)
        memcpy(text, b->data, size);
    return text;
}

void vkf_blob_edit(vkf_blob_store *store, const char *prefix, const char *from, const char *to)
{
    char *text = vkf_blob_text(store, prefix);
    char *at = strstr(text, from);
    if (!at)
        fail_msg("\"%s\" is not in: %s", from, text);
    size_t size = strlen(text) + strlen(to) + 1;
    char *edited = malloc(size);
    assert_non_null(edited);
    (void)snprintf(edited, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    vkf_blob_put(store, prefix, edited, strlen(edited));
    free(edited);
    free(text);
}
