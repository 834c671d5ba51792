// Model directories without a device: what is in one, read from headers alone, and a directory made of another.
#ifndef VKFORMER_DIRECTORY_H
#define VKFORMER_DIRECTORY_H

#include <vkformer/embed.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a model directory has. Nothing is loaded.
typedef struct vkf_inspection vkf_inspection;

typedef struct vkf_inspection_desc {
    const char *directory;         // as in vkf_model_desc
    const char *adapter_directory; // optional, as there
    vkf_message_fn message;        // NULL: no messages
    void *message_user;
    vkf_severity min_severity; // 0: all messages
    vkf_allocator allocator;
} vkf_inspection_desc;

// A model that cannot be loaded is described as far as that goes: see `supported`. Without weights, as before a
// download, config.json alone tells. Ownership: the caller's. Statuses: INVALID_ARGUMENT, FILE, FORMAT and UNSUPPORTED
// (of the weights' headers, and of an adapter's directory), OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_inspection_load(const vkf_inspection_desc *desc,
                                                         vkf_inspection **out_inspection);
VKF_API void vkf_inspection_destroy(vkf_inspection **inspection);

// Strings live as long as the inspection.
typedef struct vkf_inspection_info {
    // VKF_OK: vkf_model_load() finds all that it needs. Otherwise the reason, of which a message has told; then the
    // fields from model_type on are zero.
    vkf_status supported;
    bool has_weights;
    const char *transformer_directory; // of config.json and the weights
    const char *adapter_directory;     // of the adapter that is added to them; NULL: there is none
    uint64_t parameter_count;          // elements of floating-point tensors, and of blocks
    const char *model_type;            // that config.json names; NULL: the project's own form
    vkf_head asked_head;               // that config.json asks for; a file without its tensors has none in the config
    bool embeds;                       // a modules.json of sentence-transformers says that this model makes embeddings
    uint32_t adapter_products, adapter_tensors; // that are added to weights, and that replace tensors
    // An ENCODER's, as vkf_embedder has them.
    vkf_similarity similarity;
    uint32_t truncate_dim;  // 0: embeddings are not cut
    int32_t default_prompt; // number of a prompt; -1: none
    uint32_t reserved[16];  // 0; room for members of later versions
} vkf_inspection_info;
VKF_INLINE void vkf_inspection_get_info(const vkf_inspection *inspection, vkf_inspection_info *out_info);
// As vkf_model_get_config(), where the model is supported.
VKF_API void vkf_inspection_get_config(const vkf_inspection *inspection, vkf_model_config *out_config);

// The tensors of one type, as they are stored: "F32", "I64", or blocks "q8".
typedef struct vkf_stored_type {
    const char *name;
    uint64_t tensor_count, size_bytes;
} vkf_stored_type;
// False beyond the last type.
VKF_INLINE bool vkf_inspection_get_stored(const vkf_inspection *inspection, uint32_t index, vkf_stored_type *out_type);
// The names of tensors that a supported model does not read; NULL beyond the last one.
VKF_API const char *vkf_inspection_get_unread(const vkf_inspection *inspection, uint32_t index);
// The names of the tensors that a supported model reads, in the model's order; NULL beyond the last one. A tensor of a
// file that holds several, as of queries, keys and values, comes as often.
VKF_API const char *vkf_inspection_get_tensor(const vkf_inspection *inspection, uint32_t index);
// Reads the names of a classifier's labels from config.json, as vkf_embedder_get_label() gives them. Statuses: FILE,
// FORMAT, OUT_OF_HOST_MEMORY.
VKF_API VKF_MUST_CHECK vkf_status vkf_inspection_load_labels(vkf_inspection *inspection, uint32_t *out_count);
// The name of a label that was read; NULL beyond the last one.
VKF_API const char *vkf_inspection_get_label(const vkf_inspection *inspection, uint32_t index);
// The prompts of an ENCODER, as vkf_embedder_get_prompt() gives them; NULL beyond the last one.
VKF_API const vkf_embed_prompt *vkf_inspection_get_prompt(const vkf_inspection *inspection, uint32_t index);
// Whether the texts of a supported model become ids: loads the tokenizer, or the vocabulary of the project's own form,
// and lets it go. Statuses: as vkf_tokenizer_load() and vkf_vocabulary_load(); FORMAT (the model pads with an id that
// it has no row for).
VKF_API VKF_MUST_CHECK vkf_status vkf_inspection_try_texts(const vkf_inspection *inspection);

// Which module of the PyTorch model has a dispatch's result as its output or its input. The name comes from the names
// that the model's file gives to the weights around the dispatch.
#define VKF_MODULE_NAME_MAX 128
#define VKF_MODULE_MAX_PIECES 3

// Some columns of the result, and their place among those of the module's tensor.
typedef struct vkf_module_piece {
    char name[VKF_MODULE_NAME_MAX]; // "encoder.layers.0.linear2.input"
    uint32_t width;                 // columns
    // Where a module gives several results at once, as queries, keys and values: row r of part p of its weight is row
    // (r / part_rows * parts + p) * part_rows + r % part_rows of the whole. 0 for any other module.
    uint32_t parts, part, part_rows;
} vkf_module_piece;

typedef struct vkf_module_result {
    vkf_module_piece pieces[VKF_MODULE_MAX_PIECES]; // side by side
    uint32_t piece_count;                           // 0: no module has the result
    bool of_memory;                                 // a row for each position of the encoder's output
    bool of_sequences;                              // a row for each sequence
    bool in_heads;                                  // the columns come as (heads, head_dim)
    // For attention that comes head by head, (B, key_heads, L, head_dim), one query head of each group at a time.
    // Otherwise 0.
    uint32_t key_heads, group, head_dim;
    uint32_t reserved[8]; // 0; room for members of later versions
} vkf_module_result;
// `part` and `label` are those of a vkf_probe_output. False: the library has no such dispatch, or the model is not
// supported.
VKF_INLINE bool vkf_inspection_get_module(const vkf_inspection *inspection, const char *part, const char *label,
                                          vkf_module_result *out_result);

// The name of the model that the adapter in desc->directory belongs to (base_model_name_or_path), where that directory
// has no model, and the name is not the path of one: whoever knows where models are finds it, and gives both
// directories to vkf_model_load(). "" otherwise. *inout_bytes is as in vkf_model_get_metadata(). out_name may be NULL.
// Statuses: FILE, FORMAT, UNSUPPORTED, TOO_LARGE, OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_read_adapter_base(const vkf_inspection_desc *desc, size_t *inout_bytes,
                                                           char *out_name);

// A directory with the model of another one, with the weights of linear layers in blocks, or with an adapter merged
// into them.
typedef struct vkf_quantize_desc {
    const char *directory;         // as in vkf_model_desc
    const char *adapter_directory; // optional, as there
    const char *out_directory;     // is made; nothing of that name is there yet, or an empty directory
    // NONE: types stay as they are, to merge an adapter. Norms, biases, embeddings and weights that do not fit blocks
    // stay as they are in any case.
    vkf_quantization quantization;
    vkf_progress_fn progress; // optional, once per tensor; returning false gives VKF_ERROR_CANCELLED
    void *progress_user;
    vkf_message_fn message; // NULL: no messages
    void *message_user;
    vkf_severity min_severity; // 0: all messages
    vkf_allocator allocator;
} vkf_quantize_desc;

typedef struct vkf_quantize_result {
    uint64_t tensor_count, block_count; // of the new file, and those of them in blocks
} vkf_quantize_result;

// Works on the host alone, tensor by tensor. The directory is made under another name and then renamed: it is whole or
// not there. Statuses: INVALID_ARGUMENT, FILE, FORMAT (also: a weight is not finite), UNSUPPORTED (the message says
// why), CANCELLED, OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_quantize(const vkf_quantize_desc *desc, vkf_quantize_result *out_result);

// The class that config.json names in `architectures` for a model with the head: "BertForSequenceClassification" of the
// model_type "bert". NULL: this model_type, or NULL, has no such head here.
VKF_API const char *vkf_head_class(const char *model_type, vkf_head head);

// Weights in which nothing is learned yet, drawn by a seed.
typedef struct vkf_draw_weights_desc {
    const char *directory; // has config.json; its model.safetensors is written anew
    // Optional: the directory of a model's weights that lack nothing, or only the head that config.json asks for. Its
    // tensors are taken as they are, and a warning names those that are drawn. What else it has is left out.
    const char *from_directory;
    uint64_t seed;
    vkf_message_fn message; // NULL: no messages
    void *message_user;
    vkf_severity min_severity; // 0: all messages
    vkf_allocator allocator;
} vkf_draw_weights_desc;

// Writes what a model of such a config.json reads, in F32 and under the names that files of the family have. Matrices
// and embeddings of a family come from a normal distribution with the deviation initializer_range of config.json, or
// 0.02; norms are 1, biases 0, and rows of padding 0. As in transformers the last matrices of GPT-2's blocks have it
// divided by sqrt(2 n_layer), and those of ModernBERT's heads have deviations of their own. Matrices of
// torch.nn.Transformer come from Xavier's uniform distribution (Glorot and Bengio 2010), and its embeddings are normal
// with the deviation d_model^-0.5. Statuses: INVALID_ARGUMENT, FILE, FORMAT (also: a tensor of from_directory has
// another shape, or is missing and not the head's), UNSUPPORTED (from_directory with a config.json that asks for no
// head), OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_draw_weights(const vkf_draw_weights_desc *desc);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/directory.h>

#endif
