// Text generation as transformers' generate() does it: a decoder continues prompts, an encoder-decoder turns source
// texts into target texts.
#ifndef VKFORMER_GENERATE_H
#define VKFORMER_GENERATE_H

#include <vkformer/model.h>
#include <vkformer/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

// A DECODER, or a SEQ2SEQ model of one of transformers' families; its tokenizer and a session of its own.
typedef struct vkf_generator vkf_generator;

typedef struct vkf_generator_desc {
    // config.json, the weights and tokenizer.json; see vkf_model_desc. NULL with `model`: the directory that it came
    // from.
    const char *directory;
    // Optional: a loaded model of the same context, which the generator keeps. It is used as it is, whatever precision
    // and quantization say, and several generators, embedders and sessions may share it. A part of a model runs every
    // prompt as a whole.
    vkf_model *model;
    const vkf_file_source *files; // optional, as in vkf_model_desc; of the tokenizer, too
    vkf_model_precision precision;
    vkf_quantization quantization;
    uint32_t max_batch;   // prompts that run together; 0: 1
    uint32_t max_context; // tokens of a prompt and its continuation, SEQ2SEQ: of either; 0: the model's, at most 2048
    uint32_t max_prompt_len; // as in vkf_session_desc
    uint32_t max_beams;      // as in vkf_session_desc
    vkf_dtype cache_dtype;   // the same
    // Every prompt runs as a whole. Otherwise its first tokens do not run again if they are still in the cache, as
    // those of a chat's earlier turns: see reuse_cache in vkf_generate_args.
    bool whole_prompts;
    vkf_progress_fn progress; // optional, of loading: as in vkf_model_desc
    void *progress_user;
    const char *adapter_directory; // optional, as in vkf_model_desc; not with `model`
    // Batches that take turns, each with activations and a cache of its own; 0: 1. More of them keep all parts of a
    // model busy that is cut between its layers (vkf_layer_part).
    uint32_t batches;
} vkf_generator_desc;

// Ownership: the caller owns the generator, and destroys it before or after the context. It belongs to one thread at a
// time.
// Statuses: as vkf_model_load(), vkf_tokenizer_load() and vkf_session_create(); FORMAT (the model pads with an id
// beyond its vocabulary); UNSUPPORTED (the model has no decoder).
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generator_load(vkf_context *context, const vkf_generator_desc *desc,
                                                        vkf_generator **out_generator);
VKF_API void vkf_generator_destroy(vkf_generator **generator);
VKF_API void vkf_generator_get_config(const vkf_generator *generator, vkf_model_config *out_config);
// The generator's model, for further sessions, generators and embedders, which keep it. The caller does not destroy it.
VKF_API vkf_model *vkf_generator_get_model(vkf_generator *generator);
// The generator's tokenizer, which any number of threads may use. It lives as long as the generator.
VKF_API const vkf_tokenizer *vkf_generator_get_tokenizer(const vkf_generator *generator);
// How many tokens a prompt and its continuation may have together.
VKF_API uint32_t vkf_generator_get_max_context(const vkf_generator *generator);

// Called with each new part of the continuation of prompt number `prompt`, in whole characters of UTF-8, as soon as the
// part is known. Returning false ends the continuation there.
typedef bool (*vkf_text_fn)(void *user, uint32_t prompt, const char *bytes, size_t size_bytes);

// What was generated for one prompt.
typedef struct vkf_continuation {
    char *text; // without special tokens and stop strings; a zero follows
    size_t size_bytes;
    int32_t *ids; // (id_count) the generated tokens, all of them
    uint32_t id_count;
    uint32_t prompt_count; // tokens of the prompt, special ones counted
    vkf_stop_reason reason;
    vkf_allocator allocator; // private: where the arrays came from
    void *reserved[4];       // private: room for arrays of later versions
} vkf_continuation;
// Accepts NULL and a zeroed continuation; leaves it zeroed.
VKF_API void vkf_continuation_free(vkf_continuation *continuation);

typedef struct vkf_generator_args {
    const vkf_text *prompts; // (count); one without tokens is taken as the model's bos
    uint32_t count;
    uint32_t max_new_tokens; // 0: until the context is full
    vkf_sampling sampling;
    vkf_beam_search beams; // with more than one, sampling.temperature is 0
    // Optional, as in vkf_generate_args; `row` is the number of the prompt.
    vkf_choose_fn choose;
    void *choose_user;
    const vkf_text *stops; // optional, (stop_count): a continuation ends before the first of them (reason EOS)
    uint32_t stop_count;
    vkf_text_fn on_text; // optional; with beams called at the end, as their texts are not known before
    void *on_text_user;
    vkf_progress_fn progress; // optional; once per part of a prompt, as in vkf_generate_args
    void *progress_user;
    vkf_continuation *out_continuations; // (count); freed with vkf_continuation_free(). Untouched on failure
    vkf_generation_cost *out_cost;       // optional, of all batches
} vkf_generator_args;

// Prompts of similar length run together, whatever their order. A greedy continuation does not depend on the prompts
// beside it, with two exceptions: where the context is full (with max_new_tokens 0), and dynamic rotary scaling. There
// the longest prompt of a batch decides.
// Statuses: INVALID_ARGUMENT (also: a source without tokens), FORMAT (a prompt has an id that the model does not have),
// UNSUPPORTED (temperature or `choose` with beams), TOO_LARGE (a prompt and max_new_tokens exceed the context, or beams
// max_beams), CANCELLED, OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN (also: what the device chose is no token), NOT_FINITE
// (logits that are NaN or infinite), and those of vkf_tokenizer_encode().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generator_run(vkf_generator *generator, const vkf_generator_args *args);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/generate.h>

#endif
