// Valid arguments for every public function. Structs come by value; what they point to is static and made anew each
// time. `function` is the function's name, with a variant's behind it.
#ifndef VKF_TESTS_VALID_H
#define VKF_TESTS_VALID_H

#include "blob_store.h"
#include "kernel/context.h"
#include "model_files.h"

#include <vkformer/train.h>
#include <vkformer/vulkan.h>

typedef struct valid_arguments {
    vkf_test_gpu *gpu;
    vkf_context *other; // another context
    vkf_buffer *in, *out, *foreign;
    vkf_device_setup *setup;
    vkf_context *sharing;
    vkf_buffer *exportable;
    void *pages;
    vkf_layer *layer;
    vkf_model *decoder, *encoder, *seq2seq;
    vkf_session *turn_session;
    vkf_generation *generation; // of it
    vkf_inspection *inspection;
    vkf_model *trainable;
    vkf_trainer *trainer;
    uint8_t cache[4096]; // as vkf_session_save_to() gave it, cache_bytes of them
    size_t cache_bytes, cache_read;
    vkf_session *token_session, *decoder_session, *encoder_session, *seq2seq_session;
    vkf_test_rig transformer;
    vkf_generator *generator;
    vkf_embedder *embedder;
    vkf_tokenizer *tokenizer;
    vkf_vocabulary *vocabulary;
    vkf_device_info info;
    vkf_blob_store blobs;
    uint32_t *words; // SPIR-V
    size_t word_count;
    uint32_t shape[4];
    float floats[64];
    vkf_continuation continuation;
    VkCommandPool pool;
} valid_arguments;

extern valid_arguments valid;

void valid_make(vkf_test_gpu *gpu);
void valid_free(void);
void valid_make_trainer(void);
void valid_free_trainer(void);

// Zeros, far more than any function writes; one of several by turns.
void *valid_memory(void);
size_t *valid_capacity(void);
uint32_t *valid_capacity32(void);
vkf_buffer *valid_foreign_buffer(void);
const char *valid_directory(const char *function);
const char *valid_checkpoint(const char *function); // to be made, or of vkf_trainer_restore() there
VkCommandBuffer valid_VkCommandBuffer(void);

vkf_context *valid_vkf_context(const char *function);
vkf_device_setup *valid_vkf_device_setup(const char *function);
vkf_layer *valid_vkf_layer(const char *function);
vkf_model *valid_vkf_model(const char *function);
vkf_session *valid_vkf_session(const char *function);
vkf_generator *valid_vkf_generator(const char *function);
vkf_embedder *valid_vkf_embedder(const char *function);
vkf_tokenizer *valid_vkf_tokenizer(const char *function);
vkf_vocabulary *valid_vkf_vocabulary(const char *function);
vkf_trainer *valid_vkf_trainer(const char *function);
vkf_generation *valid_vkf_generation(const char *function);
vkf_inspection *valid_vkf_inspection(const char *function);
vkf_buffer *valid_vkf_buffer(const char *function);

const char *valid_cache_path(void); // of a file that holds a saved cache of a session
bool valid_vkf_write_fn(void *user, const void *bytes, size_t size_bytes);
bool valid_vkf_read_fn(void *user, void *out_bytes, size_t size_bytes);
bool valid_vkf_progress_fn(void *user, uint32_t done, uint32_t total, const char *what); // ends what takes long
void valid_vkf_kernel_fn(void *user, const char *kernel, bool usable, const char *why);
void valid_vkf_planned_dispatch_fn(void *user, const vkf_planned_dispatch *dispatch);
bool valid_vkf_kernel_report_fn(void *user, const vkf_kernel_report *report);
bool valid_vkf_probe_fn(void *user, const vkf_probe_output *output);
void valid_vkf_verdict_fn(void *user, const vkf_verdict *verdict);
void valid_vkf_choice_fn(void *user, const vkf_choice *choice);

// clang-format off
#define VALID_STRUCTS(X) \
    X(vkf_tensor) X(vkf_gemm_desc) X(vkf_softmax_desc) X(vkf_sdpa_desc) X(vkf_layer_norm_desc) X(vkf_embed_desc) \
    X(vkf_additive_scores_desc) X(vkf_activate_desc) X(vkf_argmax_desc) X(vkf_concat_desc) X(vkf_gather_desc) \
    X(vkf_scatter_desc) X(vkf_measure_fma_desc) X(vkf_attention_desc) X(vkf_feed_forward_desc) X(vkf_rotary_desc) \
    X(vkf_transformer_layer_desc) X(vkf_layer_sizes) X(vkf_wrapped_buffer_desc) X(vkf_imported_memory) \
    X(vkf_layer_submit_desc) X(vkf_session_submit_desc) X(vkf_context_desc) X(vkf_model_desc) X(vkf_session_desc) \
    X(vkf_encode_args) X(vkf_decode_args) X(vkf_device_description_desc) X(vkf_greedy_args) X(vkf_generate_args) \
    X(vkf_prefill_args) X(vkf_step_args) X(vkf_file_list) X(vkf_generator_desc) X(vkf_generator_args) \
    X(vkf_embedder_desc) X(vkf_embed_args) X(vkf_tokenizer_desc) X(vkf_text) X(vkf_encode_options) \
    X(vkf_tune_problem) X(vkf_tune_options) X(vkf_shader_desc) X(vkf_profiler) X(vkf_trainer_desc) \
    X(vkf_train_batch) X(vkf_inspection_desc) X(vkf_quantize_desc) X(vkf_draw_weights_desc) \
    X(vkf_quantize_linear_desc) X(vkf_gemm_int8_desc)
// clang-format on
#define VALID_STRUCT(type) type valid_##type(const char *function, const char *parameter);
VALID_STRUCTS(VALID_STRUCT)
#undef VALID_STRUCT

#endif
