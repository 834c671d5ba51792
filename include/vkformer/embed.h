// Texts through an encoder: one vector for each, as sentence-transformers gives them, or what the model's head says of
// it: classes, answers, masked words.
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
    const char *directory; // config.json, the weights and tokenizer.json; see vkf_model_desc
    vkf_model_precision precision;
    vkf_quantization quantization;
    uint32_t max_batch;    // texts that run together; 0: 8
    uint32_t max_tokens;   // of a text, special ones counted, and at most the model's max_source_len; what is longer is
                           // cut as the tokenizer cuts. 0: the model's truncate_len, with a head no more than the
                           // model_max_length of tokenizer_config.json
    bool head;             // the model's head runs, too, which takes room for its logits
    uint32_t truncate_dim; // elements of an embedding that are given, from the first on; 0: as many as the directory's
                           // truncate_dim says. Beyond the model's: all
} vkf_embedder_desc;

// Ownership: the caller owns the embedder, in any order with the context. It belongs to one thread at a time.
// Statuses: as vkf_model_load(), vkf_tokenizer_load() and vkf_session_create(); FORMAT (the tokenizer, its special
// tokens and padding included, has ids beyond the model's vocabulary); UNSUPPORTED (the model is no encoder, or
// has no head).
VKF_API VKF_MUST_CHECK vkf_status vkf_embedder_create(vkf_context *context, const vkf_embedder_desc *desc,
                                                      vkf_embedder **out_embedder);
VKF_API void vkf_embedder_destroy(vkf_embedder **embedder);
// Of the model, but that embedding_dim is the length of the embeddings that are given (see truncate_dim), and
// truncate_len is the embedder's max_tokens.
VKF_API void vkf_embedder_get_config(const vkf_embedder *embedder, vkf_model_config *out_config);

// A text that stands in front of every text of its kind: what a model was trained with for queries, or for documents.
typedef struct vkf_embed_prompt {
    const char *name;
    const char *text;
} vkf_embed_prompt;
// The prompts of the directory's config_sentence_transformers.json, in the order of their names. "query" and "document"
// are always there: empty, where the file does not have them. NULL beyond. Lives as long as the embedder.
VKF_API const vkf_embed_prompt *vkf_embedder_prompt(const vkf_embedder *embedder, uint32_t index);
// The one that texts get where a run names none; NULL where the file has no default_prompt_name. An embedder with its
// head has no default.
VKF_API const vkf_embed_prompt *vkf_embedder_default_prompt(const vkf_embedder *embedder);

// How two embeddings are compared: the larger, the more alike. similarity_fn_name of config_sentence_transformers.json,
// or COSINE.
typedef enum vkf_similarity {
    VKF_SIMILARITY_COSINE = 0,
    VKF_SIMILARITY_DOT,       // the product
    VKF_SIMILARITY_EUCLIDEAN, // their distance, below 0
    VKF_SIMILARITY_MANHATTAN, // the sum of the distances of their elements, below 0
    VKF_SIMILARITY_COUNT
} vkf_similarity;
VKF_API vkf_similarity vkf_embedder_similarity(const vkf_embedder *embedder);

// The embedder's own model, for further sessions, which keep it. The caller does not destroy it.
VKF_API vkf_model *vkf_embedder_model(vkf_embedder *embedder);

// The name of a label of a classifier, from config.json's id2label; NULL beyond. Lives as long as the embedder.
VKF_API const char *vkf_embedder_label(const vkf_embedder *embedder, uint32_t index);

// The text of a token as it stands in the tokenizer's file; NULL for an id of no token. Lives as long as the embedder.
VKF_API const char *vkf_embedder_token(const vkf_embedder *embedder, int32_t id);

// The text of tokens, as vkf_tokenizer_decode() writes it; blanks before punctuation are taken out where
// tokenizer_config.json says clean_up_tokenization_spaces. out_text may be NULL, as there. Statuses: as there.
VKF_API VKF_MUST_CHECK vkf_status vkf_embedder_decode(const vkf_embedder *embedder, const int32_t *ids, uint32_t count,
                                                      bool skip_special_tokens, size_t *inout_bytes, char *out_text);

// The ids of the tokens that tokenizer_config.json or special_tokens_map.json name, or that have the usual names
// ("[CLS]" or "<s>", "[MASK]" or "<mask>", and so on); -1 for one that there is not.
typedef struct vkf_special_tokens {
    int32_t cls_id, mask_id, unk_id, pad_id;
} vkf_special_tokens;
VKF_API void vkf_embedder_get_special_tokens(const vkf_embedder *embedder, vkf_special_tokens *out_tokens);

// What a head says of one text.
typedef struct vkf_prediction {
    uint32_t rows; // 1, of SEQUENCE_CLASSIFICATION, or the text's tokens
    uint32_t cols; // head_outputs
    float *logits; // (rows, cols)
    vkf_encoding tokens;
    vkf_allocator allocator; // private: where the logits came from
} vkf_prediction;
// Accepts NULL and a zeroed prediction; leaves it zeroed.
VKF_API void vkf_prediction_free(vkf_prediction *prediction);

typedef struct vkf_embed_args {
    const vkf_text *texts; // (count)
    const vkf_text *pairs; // optional, (count): each text's second one, as the context of a question
    // Optional, (count): how each text is cut. By default, and with FROM_FILE and NONE, LONGEST_FIRST on the side that
    // tokenizer_config.json (truncation_side) or tokenizer.json says; max_length counts as
    // far as it is below the embedder's max_tokens.
    const vkf_encode_options *options;
    uint32_t count;
    // Optional: the text in front of each of `texts`, "" for none, or the name of one of the embedder's prompts; not
    // both. Neither: the default prompt. Where the model's pooling leaves prompts out, the prompt's tokens count in
    // attention alone. Offsets of out_predictions' tokens then count from the prompt's first byte.
    const char *prompt;
    const char *prompt_name;
    float *out_embeddings;           // optional, (count, embedding_dim) of vkf_embedder_get_config()
    vkf_prediction *out_predictions; // optional, (count), of an embedder with its head; the caller's, see
                                     // vkf_prediction_free(). Untouched on failure
    uint32_t *out_token_counts;      // optional, (count): tokens of each text that were embedded, special ones counted
    vkf_progress_fn progress; // optional, once per batch with the texts done; returning false gives VKF_ERROR_CANCELLED
    void *progress_user;
} vkf_embed_args;

// Texts of like length run together, whatever their order; an embedding does not depend on its neighbours.
// Statuses: INVALID_ARGUMENT (also: a text of no tokens, to which the tokenizer adds none either, and a prompt that the
// model has not), FORMAT (a text has an id or a token type that the model has not), CANCELLED, OUT_OF_HOST_MEMORY,
// DEVICE_LOST, VULKAN, NOT_FINITE (an embedding or a head's logits that are asked for are NaN or infinite; the message
// names the text), and those of vkf_tokenizer_encode().
VKF_API VKF_MUST_CHECK vkf_status vkf_embedder_run(vkf_embedder *embedder, const vkf_embed_args *args);

#ifdef __cplusplus
}
#endif
#endif
