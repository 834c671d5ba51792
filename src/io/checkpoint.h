// The weights of a model: one file, or several with an index, as transformers splits large ones. They are in
// safetensors or, in older repositories, in what torch.save() writes.
#ifndef VKF_IO_CHECKPOINT_H
#define VKF_IO_CHECKPOINT_H

#include "io/tensor_file.h"

typedef struct vkf__checkpoint vkf__checkpoint;

// Opens one file. Statuses as vkf__tensor_file_open().
VKF_MUST_CHECK vkf_status vkf__checkpoint_open_file(const vkf__host *host, const char *path,
                                                    vkf__checkpoint **out_checkpoint);
// Opens directory/model.safetensors or, where there is none, the files that directory/model.safetensors.index.json
// names, each of which must hold what the index says. Failing both, it opens pytorch_model.bin, or the files of its
// index. Further statuses: FORMAT (the index names a file outside the directory, or a file lacks a tensor).
VKF_MUST_CHECK vkf_status vkf__checkpoint_open(const vkf__host *host, const char *directory,
                                               vkf__checkpoint **out_checkpoint);
// Whether the directory has a file that vkf__checkpoint_open() would open. Statuses: FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__checkpoint_is_there(const vkf__host *host, const char *directory, bool *out_there);
void vkf__checkpoint_close(vkf__checkpoint **checkpoint);

// The tensors of all files. If two files have a tensor of the same name, that of the file opened first is found.
size_t vkf__checkpoint_count(const vkf__checkpoint *checkpoint);
const vkf__stored_tensor *vkf__checkpoint_at(const vkf__checkpoint *checkpoint, size_t index);       // NULL beyond
const vkf__stored_tensor *vkf__checkpoint_find(const vkf__checkpoint *checkpoint, const char *name); // NULL when absent
// Whether any tensor's name begins with the prefix.
bool vkf__checkpoint_has_prefix(const vkf__checkpoint *checkpoint, const char *prefix);
// The path of the file or of its index, and the path of the file that holds a tensor.
const char *vkf__checkpoint_path(const vkf__checkpoint *checkpoint);
const char *vkf__checkpoint_path_of(const vkf__checkpoint *checkpoint, const vkf__stored_tensor *tensor);
// The strings that the files have beside their tensors, by key, as a new object; of the same key, that of the file
// opened first. NULL: no host memory.
json_t *vkf__checkpoint_metadata(const vkf__checkpoint *checkpoint);
// A hash of the tensors' names, types and shapes and of the first bytes of each: what tells a model's weights from
// those of another without reading them all. Statuses: as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf__checkpoint_fingerprint(const vkf__checkpoint *checkpoint, uint64_t *out_hash);
// Status FILE when one of the files was written to since it was opened, so that what was read may mix two contents;
// otherwise as vkf__file_check_unchanged().
VKF_MUST_CHECK vkf_status vkf__checkpoint_check_unchanged(const vkf__checkpoint *checkpoint);

#endif
