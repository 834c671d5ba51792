// Runs texts through an encoder. Each text gives one vector, as with sentence-transformers, or what the model's head
// says of it: classes, answers, masked words.
#ifndef VKFORMER_EMBED_H
#define VKFORMER_EMBED_H

#include <vkformer/model.h>
#include <vkformer/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

// An ENCODER model, its tokenizer.json and a session of its own.
typedef struct vkf_embedder vkf_embedder;

typedef struct vkf_embedder_desc {
    // config.json, the weights and tokenizer.json; see vkf_model_desc. NULL with `model`: the directory that it came
    // from.
    const char *directory;
    vkf_model *model;             // optional: a loaded model to use and keep, as in vkf_generator_desc
    const vkf_file_source *files; // optional, as in vkf_model_desc; of the tokenizer and the files beside it, too
    vkf_model_precision precision;
    vkf_quantization quantization;
    uint32_t max_batch;    // texts that run together; 0: 8
    uint32_t max_tokens;   // of a text, special ones counted, at most the model's max_source_len; longer texts are cut
                           // as the tokenizer cuts. 0: the model's truncate_len, and with a head at most the
                           // model_max_length of tokenizer_config.json
    bool head;             // the model's head runs, too, which takes room for its logits
    uint32_t truncate_dim; // how many of an embedding's first elements are returned; 0: the directory's truncate_dim.
                           // A number beyond the model's returns all
    const char *adapter_directory; // optional, as in vkf_model_desc; not with `model`
} vkf_embedder_desc;

// Ownership: the caller owns the embedder, and destroys it before or after the context. It belongs to one thread at a
// time.
// Statuses: as vkf_model_load(), vkf_tokenizer_load() and vkf_session_create(); FORMAT (the model pads with an id
// beyond its vocabulary); UNSUPPORTED (the model is no encoder, or has no head).
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_embedder_load(vkf_context *context, const vkf_embedder_desc *desc,
                                                       vkf_embedder **out_embedder);
VKF_API void vkf_embedder_destroy(vkf_embedder **embedder);
// The model's configuration, except that embedding_dim is the length of the embeddings that are returned (see
// truncate_dim), and truncate_len is the embedder's max_tokens.
VKF_API void vkf_embedder_get_config(const vkf_embedder *embedder, vkf_model_config *out_config);

// A text that stands in front of every text of its kind, as the model was trained with it for queries or documents.
typedef struct vkf_embed_prompt {
    const char *name;
    const char *text;
} vkf_embed_prompt;
// The prompts of the directory's config_sentence_transformers.json, in the order of their names. "query" and "document"
// are always there, and empty if the file does not have them. NULL beyond the last one. A prompt lives as long as the
// embedder.
VKF_API const vkf_embed_prompt *vkf_embedder_get_prompt(const vkf_embedder *embedder, uint32_t index);
// The prompt that texts get when a run names none; NULL if the file has no default_prompt_name. An embedder that runs
// its head has no default.
VKF_API const vkf_embed_prompt *vkf_embedder_get_default_prompt(const vkf_embedder *embedder);

// How two embeddings are compared; a larger result means more alike. It is similarity_fn_name of
// config_sentence_transformers.json, or COSINE.
typedef enum vkf_similarity {
    VKF_SIMILARITY_COSINE = 0,
    VKF_SIMILARITY_DOT,       // the dot product
    VKF_SIMILARITY_EUCLIDEAN, // minus their distance
    VKF_SIMILARITY_MANHATTAN, // minus the sum of their elements' distances
    VKF_SIMILARITY_COUNT
} vkf_similarity;
VKF_API vkf_similarity vkf_embedder_get_similarity(const vkf_embedder *embedder);

// The embedder's model, for further sessions, generators and embedders, which keep it. The caller does not destroy it.
VKF_API vkf_model *vkf_embedder_get_model(vkf_embedder *embedder);
// The embedder's tokenizer, which any number of threads may use. It lives as long as the embedder. With a model that
// wants texts in lower case, it puts them so. Where tokenizer_config.json says clean_up_tokenization_spaces, it takes
// out blanks before punctuation of what it decodes.
VKF_API const vkf_tokenizer *vkf_embedder_get_tokenizer(const vkf_embedder *embedder);

// The name of a classifier's label, from config.json's id2label; NULL beyond the last one. It lives as long as the
// embedder.
VKF_API const char *vkf_embedder_get_label(const vkf_embedder *embedder, uint32_t index);

// The ids of the tokens that tokenizer_config.json or special_tokens_map.json name, or that have the usual names
// ("[CLS]" or "<s>", "[MASK]" or "<mask>", and so on); -1 for one that does not exist.
typedef struct vkf_special_tokens {
    int32_t cls_id, mask_id, unk_id, pad_id;
    int32_t bos_id, eos_id; // before and behind a text; where there are none, BERT's cls_token and sep_token
} vkf_special_tokens;
VKF_INLINE void vkf_embedder_get_special_tokens(const vkf_embedder *embedder, vkf_special_tokens *out_tokens);
// The same of a tokenizer without a model, by the files of the directory that it was loaded from. Statuses:
// INVALID_ARGUMENT, FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_tokenizer_read_special_tokens(const vkf_tokenizer *tokenizer,
                                                                       const char *directory,
                                                                       vkf_special_tokens *out_tokens);

// What a head says of one text.
typedef struct vkf_prediction {
    uint32_t rows; // 1 for SEQUENCE_CLASSIFICATION, else the number of the text's tokens
    uint32_t cols; // head_outputs
    float *logits; // (rows, cols)
    vkf_encoding tokens;
    vkf_allocator allocator; // private: where the logits came from
    void *reserved[4];       // private: room for arrays of later versions
} vkf_prediction;
// Accepts NULL and a zeroed prediction; leaves it zeroed.
VKF_API void vkf_prediction_free(vkf_prediction *prediction);

typedef struct vkf_embed_args {
    const vkf_text *texts; // (count)
    const vkf_text *pairs; // optional, (count): each text's second one, as the context of a question
    // Optional, (count): how each text is cut. Without it, and with FROM_FILE and NONE, texts are cut LONGEST_FIRST on
    // the side that tokenizer_config.json (truncation_side) or tokenizer.json says. max_length takes effect only where
    // it is below the embedder's max_tokens.
    const vkf_encode_options *options;
    uint32_t count;
    // Optional: either the text in front of each of `texts`, "" for none, or the name of one of the embedder's prompts,
    // not both. With neither, the default prompt is taken. If the model's pooling leaves prompts out, the prompt's
    // tokens take part in attention alone. Behind a prompt, the offsets of out_predictions' tokens count from its first
    // byte.
    const char *prompt;
    const char *prompt_name;
    float *out_embeddings;           // optional, (count, embedding_dim) of vkf_embedder_get_config()
    vkf_prediction *out_predictions; // optional, (count), of an embedder that runs its head; the caller frees each with
                                     // vkf_prediction_free(). Untouched on failure
    uint32_t *out_token_counts;      // optional, (count): tokens of each text that were embedded, special ones counted
    vkf_progress_fn progress; // optional, once per batch with the texts done; returning false gives VKF_ERROR_CANCELLED
    void *progress_user;
} vkf_embed_args;

// Texts of similar length run together, whatever their order. An embedding does not depend on the texts beside it.
// Statuses: INVALID_ARGUMENT (also: a text without tokens to which the tokenizer adds none, and a prompt that the model
// does not have), FORMAT (a text has an id or a token type that the model does not have), CANCELLED,
// OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN, NOT_FINITE (an embedding or a head's logits that are asked for are NaN or
// infinite; the message names the text), and those of vkf_tokenizer_encode().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_embedder_run(vkf_embedder *embedder, const vkf_embed_args *args);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/embed.h>

#endif
