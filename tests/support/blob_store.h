// A store in memory for vkf_cache_callbacks.
#ifndef VKF_TESTS_BLOB_STORE_H
#define VKF_TESTS_BLOB_STORE_H

#include <vkformer/vkformer.h>

enum { VKF_TEST_MAX_BLOBS = 6 };

typedef struct vkf_blob {
    char key[128];
    uint8_t *data;
    size_t size_bytes;
} vkf_blob;

typedef struct vkf_blob_store {
    vkf_blob blobs[VKF_TEST_MAX_BLOBS];
    size_t count;
    int loads, saves;
} vkf_blob_store;

vkf_cache_callbacks vkf_blob_store_callbacks(vkf_blob_store *store);
void vkf_blob_store_clear(vkf_blob_store *store);

// The first blob whose key begins so, or NULL.
vkf_blob *vkf_blob_find(vkf_blob_store *store, const char *prefix);
void vkf_blob_put(vkf_blob_store *store, const char *key, const void *data, size_t size_bytes);

// The content of a blob of text, as a terminated copy that the caller frees; "" when there is none.
char *vkf_blob_text(vkf_blob_store *store, const char *prefix);
// Replaces the first `from` in a blob of text by `to`; fails the running test when it is not there.
void vkf_blob_edit(vkf_blob_store *store, const char *prefix, const char *from, const char *to);

#endif
