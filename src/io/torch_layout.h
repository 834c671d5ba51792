// Where the two forms of torch.save()'s files keep their pickle and their storages: private to the reader.
#ifndef VKF_IO_TORCH_LAYOUT_H
#define VKF_IO_TORCH_LAYOUT_H

#include "io/byte_source.h"
#include "io/torch_objects.h"

// A file whose pickle has been read.
typedef struct vkf__torch_content {
    uint8_t *text; // of the pickle
    vkf__pickle *pickle;
    vkf__torch_objects objects;
    vkf__pickle_value root;
} vkf__torch_content;

// Read the pickle and place every storage that it names. *out begins as zeros; vkf__torch_content_free() releases it,
// also after a failure.
VKF_MUST_CHECK vkf_status vkf__torch_read_zip(const vkf__byte_source *source, vkf__torch_content *out);
VKF_MUST_CHECK vkf_status vkf__torch_read_legacy(const vkf__byte_source *source, vkf__torch_content *out);
void vkf__torch_content_free(const vkf__host *host, vkf__torch_content *content);

#endif
