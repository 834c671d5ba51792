// Models and tokenizers from elsewhere than the file system: an archive, an application's assets, memory.
#ifndef VKFORMER_FILE_SOURCE_H
#define VKFORMER_FILE_SOURCE_H

#include <vkformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// What takes the place of a directory. Names are those of a model's files, without the directory: "config.json",
// "model-00001-of-00002.safetensors", "1_Pooling/config.json". The callbacks are called by the function that is given
// the source, in its own thread, and no longer after it returns.
typedef struct vkf_file_source {
    // Whether there is such a file, and its size in bytes. Called for many names that need not be there.
    bool (*size)(void *user, const char *name, uint64_t *out_size_bytes);
    // Reads bytes [offset, offset + size_bytes), which are within the file. False: they cannot be read, which gives
    // VKF_ERROR_FILE.
    bool (*read)(void *user, const char *name, uint64_t offset, void *out_bytes, size_t size_bytes);
    // Optional, NULL: nothing. A file that was read is not needed any more; it may be asked for again.
    void (*close)(void *user, const char *name);
    void *user;
    uint64_t reserved[4]; // 0; room for members of later versions
} vkf_file_source;

// A file in memory, or in a part of another one that is open.
typedef struct vkf_listed_file {
    const char *name;
    const void *bytes;     // (size_bytes); NULL: in the descriptor
    int descriptor;        // that is read by pread(), such as that of an Android package's uncompressed asset
    uint64_t offset_bytes; // of the file's first byte in the descriptor
    uint64_t size_bytes;
} vkf_listed_file;

typedef struct vkf_file_list {
    const vkf_listed_file *files; // (count)
    uint32_t count;
} vkf_file_list;

// Makes a source of files in memory and in descriptors. It refers to `list`, which lives as long as the source is used;
// nothing is copied, and no descriptor closed. Systems without pread() read none of these.
VKF_API void vkf_file_list_get_source(const vkf_file_list *list, vkf_file_source *out_source);

#ifdef __cplusplus
}
#endif
#endif
