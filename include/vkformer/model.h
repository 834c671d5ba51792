// Whole models: weights and configuration (vkf_model), and what it takes to run them (vkf_session).
#ifndef VKFORMER_MODEL_H
#define VKFORMER_MODEL_H

#include <vkformer/file_source.h>
#include <vkformer/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vkf_model_kind {
    VKF_MODEL_TRANSFORMER = 0, // torch.nn.Transformer: embedded sequences in, hidden states out
    VKF_MODEL_SEQ2SEQ,         // token ids in, logits and token ids out
    VKF_MODEL_ENCODER,         // token ids in, hidden states and an embedding per sequence out: BERT and its like
    VKF_MODEL_DECODER,         // token ids in, logits and the next tokens out: GPT-2, Llama and their like
    VKF_MODEL_KIND_COUNT
} vkf_model_kind;

// How the hidden states of a sequence become its embedding: the pooling modes of sentence-transformers.
typedef enum vkf_pooling {
    VKF_POOLING_MEAN = 0,
    VKF_POOLING_MEAN_SQRT, // the sum divided by the root of the length
    VKF_POOLING_FIRST,     // that of the first token: [CLS]
    VKF_POOLING_LAST,
    VKF_POOLING_MAX,
    VKF_POOLING_WEIGHTED_MEAN, // the token at position t, from 0, weighs t + 1
    VKF_POOLING_COUNT
} vkf_pooling;

// What hidden states go through to become an embedding: modules of sentence-transformers.
typedef enum vkf_embedding_module_kind {
    VKF_EMBEDDING_POOLING = 0,
    VKF_EMBEDDING_DENSE,      // activation(x W^T + b)
    VKF_EMBEDDING_LAYER_NORM, // eps is 1e-5
    VKF_EMBEDDING_NORMALISE,  // x divided by its Euclidean length
    VKF_EMBEDDING_MODULE_COUNT
} vkf_embedding_module_kind;

#define VKF_MAX_EMBEDDING_MODULES 8
#define VKF_MAX_POOLINGS 8

typedef struct vkf_embedding_module {
    vkf_embedding_module_kind kind;
    uint32_t dim;                           // of the output
    vkf_pooling poolings[VKF_MAX_POOLINGS]; // of POOLING: their vectors are concatenated
    uint32_t pooling_count;
    bool without_prompt;       // of POOLING: the tokens of a prompt do not count
    vkf_activation activation; // of DENSE; NONE for torch.nn.Identity
    bool bias;                 // of DENSE: there is one
    uint32_t reserved[8];      // 0; room for members of later versions
} vkf_embedding_module;

// What an ENCODER was trained to predict from its hidden states, as transformers' classes named ...For... do.
typedef enum vkf_head {
    VKF_HEAD_NONE = 0,
    VKF_HEAD_SEQUENCE_CLASSIFICATION, // logits (B, labels)
    VKF_HEAD_TOKEN_CLASSIFICATION,    // (B, S, labels)
    VKF_HEAD_QUESTION_ANSWERING,      // (B, S, 2): where an answer begins, and where it ends
    VKF_HEAD_MASKED_LM,               // (B, S, source_vocab)
    VKF_HEAD_COUNT
} vkf_head;

// The position embeddings that are added to the tokens' embeddings.
typedef enum vkf_positions {
    VKF_POSITIONS_SINUSOIDAL = 0,    // "Attention Is All You Need", 3.5: sines and cosines alternate
    VKF_POSITIONS_SINUSOIDAL_HALVES, // all sines, then all cosines
    VKF_POSITIONS_LEARNED,
    VKF_POSITIONS_NONE, // attention takes care of positions, or nothing does
    VKF_POSITIONS_COUNT
} vkf_positions;

#define VKF_MAX_ROTARY_DIM 256
#define VKF_MAX_EOS 8
#define VKF_MAX_BEAMS 64

// Rotary position embedding (Su et al. 2021): element i of the first half of `dim` and element i of the second are
// rotated by position * inverse_frequency[i]. Most kinds of context scaling are in the frequencies already. Two kinds
// have other frequencies for sequences of more than dynamic_from tokens: with "dynamic" theta grows with the sequence,
// and "longrope" lists them.
typedef struct vkf_rotary_config {
    uint32_t dim; // elements of a head that are rotated, even; 0: none
    float scale;  // of cosines and sines: an attention factor of YaRN or LongRoPE, else 1
    float inverse_frequency[VKF_MAX_ROTARY_DIM / 2];
    uint32_t dynamic_from;       // 0: neither of the two kinds, and the fields below are not used
    float dynamic_factor, theta; // "dynamic"; dynamic_factor 0: "longrope"
    float long_inverse_frequency[VKF_MAX_ROTARY_DIM / 2];
    uint32_t reserved[16]; // 0; room for members of later versions
} vkf_rotary_config;

// How the device chooses the next token. All zero: the most probable one, the lowest id among equals (greedy).
// Otherwise in transformers' order: repetition penalty, temperature, top-k, top-p, min-p, then one draw.
typedef struct vkf_sampling {
    float temperature;        // 0: greedy
    uint32_t top_k;           // so many tokens stay, and those equal to the last of them; 0: all
    float top_p;              // the most probable tokens that together have this probability stay; 0 or 1: all
    float min_p;              // tokens with at least this share of the largest probability stay; 0: all
    float repetition_penalty; // divides positive and multiplies negative logits of tokens so far; 0 or 1: none
    uint64_t seed;            // the same seed gives the same tokens on the same device
    uint32_t reserved[16];    // 0; room for members of later versions
} vkf_sampling;

// When a beam search ends before its sequences reach their maximum length, as transformers' early_stopping.
typedef enum vkf_early_stopping {
    VKF_EARLY_STOPPING_OFF = 0, // False: when no running sequence, if it ended here, would be better than those kept
    VKF_EARLY_STOPPING_ON,      // True: when num_beams of them have ended
    VKF_EARLY_STOPPING_NEVER,   // "never": when no running sequence can become better than those kept
    VKF_EARLY_STOPPING_COUNT
} vkf_early_stopping;

// Beam search as transformers' generate() does it: of the num_beams most probable sequences that end, the one whose sum
// of log-probabilities, divided by its number of new tokens to the power of length_penalty, is largest.
typedef struct vkf_beam_search {
    uint32_t num_beams;   // 0 or 1: none
    float length_penalty; // any finite number; 0: sums are not divided. transformers' default is 1
    vkf_early_stopping early_stopping;
    uint32_t reserved[8]; // 0; room for members of later versions
} vkf_beam_search;

// What transformers' generate() takes when its caller says nothing, from generation_config.json, or from config.json if
// there is none. All zero: the files say nothing. While a model is loaded, a warning names what these files ask for and
// the library does not implement.
typedef struct vkf_generation_defaults {
    vkf_sampling sampling;   // temperature 0 unless do_sample is true; with do_sample, top_k is 50 if none is given
    vkf_beam_search beams;   // length_penalty 1 if none is given
    uint32_t max_new_tokens; // 0: not given; goes before max_length
    uint32_t max_length;     // 0: not given; counts the prompt's tokens, too, for SEQ2SEQ bos_id
    uint32_t reserved[16];   // 0; room for members of later versions
} vkf_generation_defaults;

typedef struct vkf_model_config {
    vkf_model_kind kind;
    uint32_t d_model;
    uint32_t num_heads;
    uint32_t dim_feedforward;
    uint32_t num_encoder_layers;
    uint32_t num_decoder_layers;
    vkf_activation activation; // 0 in vkf_model_desc.config: RELU, as in PyTorch
    bool norm_first;
    float layer_norm_eps; // 0 in vkf_model_desc.config: 1e-5, as in PyTorch; or VKF_ZERO
    // For SEQ2SEQ and ENCODER.
    uint32_t source_vocab;
    int32_t pad_id; // -1: there is none; 0 is an id like others, here and below
    uint32_t max_source_len;
    // For ENCODER alone.
    bool causal;              // a position sees those before it, and itself: a decoder that was saved with a head
    uint32_t token_types;     // 0: tokens have no types
    uint32_t position_offset; // row of position 0 in the learned table, which has max_source_len rows from there on
    vkf_embedding_module embedding_modules[VKF_MAX_EMBEDDING_MODULES]; // in order; the first, and it alone, is POOLING
    uint32_t embedding_module_count;
    uint32_t embedding_dim; // of the last module's output
    uint32_t truncate_len;  // how many tokens of a text sentence-transformers keeps, at most max_source_len
    bool lower_case;        // sentence-transformers puts texts into lower case, whatever the tokenizer does
    vkf_head head;
    uint32_t head_outputs;          // logits of a position or a sequence
    vkf_pooling head_pooling;       // FIRST, MEAN or LAST: of SEQUENCE_CLASSIFICATION
    vkf_activation head_activation; // of the Linear before the projection, if there is one
    bool head_dense_bias;           // that Linear has a bias
    bool head_multi_label;          // of SEQUENCE_CLASSIFICATION: a probability for each label by itself
    bool head_regression;           // logits are the predicted values, not scores of labels
    // For SEQ2SEQ alone, up to the next group.
    uint32_t target_vocab;
    bool share_embedding; // the target is embedded with src_embed
    bool tie_projection;  // the projection is the target embedding's table
    bool projection_bias;
    int32_t bos_id; // -1: there is none
    int32_t eos_id; // -1: there is none
    int32_t unk_id;
    uint32_t max_target_len; // generated tokens, bos and eos included; DECODER: its context, the prompt included
    // Set for models from transformers' directories, else zero. A DECODER has num_decoder_layers, target_vocab,
    // tie_projection, projection_bias and the ids above, too.
    vkf_norm_kind norm;
    uint32_t num_kv_heads; // num_heads / num_kv_heads query heads share a key head (Ainslie et al. 2023)
    uint32_t head_dim;     // num_heads * head_dim need not be d_model
    bool gated;            // feed-forward (activation(x W_gate^T) * (x W_1^T)) W_2^T (Shazeer 2020)
    bool parallel;         // x + attention(norm1(x)) + feed_forward(norm2(x)), as in GPT-NeoX
    bool attention_bias;   // of queries, keys and values, and of the output
    bool feed_forward_bias;
    bool norm_bias;     // LayerNorms have a bias
    bool final_norm;    // one more norm behind the last layer
    bool no_first_norm; // no norm before the first layer's attention
    vkf_positions positions;
    vkf_rotary_config rotary; // positions by rotation
    // In the layers of windowed_layers a position sees this many of the latest positions, itself included. In an
    // ENCODER it sees itself and half as many on either side.
    uint32_t window;
    uint32_t windowed_layers[32];    // layer i is bit i % 32 of element i / 32
    vkf_rotary_config window_rotary; // of these layers; dim 0: the same as elsewhere
    int32_t eos_ids[VKF_MAX_EOS];    // eos_id first
    uint32_t eos_count;
    // For SEQ2SEQ.
    uint32_t num_decoder_heads, dim_decoder_feedforward; // 0: as in the encoder
    bool unscaled_embedding;                             // embeddings are not multiplied by sqrt(d_model)
    bool unscaled_attention;                             // scores are not divided by sqrt(head_dim)
    uint32_t relative_buckets;   // scores get a learned bias by distance (Raffel et al. 2020); 0: they do not
    uint32_t relative_distance;  // beyond it all distances are alike
    float logit_scale;           // multiplies the last hidden states before the projection; 0: 1
    bool forced_bos, forced_eos; // as the first generated token, and as the last one if no eos came before
    int32_t forced_bos_id, forced_eos_id;
    // For SEQ2SEQ and DECODER.
    int32_t banned_ids[VKF_MAX_EOS]; // are never generated
    uint32_t banned_count;
    vkf_generation_defaults generation; // for the caller to pass on in vkf_generate_args; no run applies it by itself
    uint32_t reserved[128];             // 0; room for members of later versions
} vkf_model_config;

typedef struct vkf_model vkf_model;
typedef struct vkf_session vkf_session;

// The precision switch: how a model's parameters (weights, biases, norms, embedding tables) and its activations and
// caches are stored on the device. A file's F32, F16 or BF16 values are rounded once, to nearest even; they keep their
// bits where the device stores the file's own type. Sums, softmax, norms and logits are always in f32.
//
// Errors: with models of up to 4 + 4 layers whose activations stay near 1, as norms keep them, results are within
// atol + rtol * |expected| of PyTorch's in float64. With more layers the error grows like the root of their number.
// This holds for VKF_PRECISION_FULL in the context's own switch, which is about arithmetic.
//
//                 parameters  activations  rtol    atol
//   F32           f32         f32          1e-4    5e-5
//   F16_WEIGHTS   f16         f32          2e-2    2e-2
//   BF16_WEIGHTS  bf16        f32          1.6e-1  1.6e-1
//   F16           f16         f16          3e-2    3e-2
//
// tests/golden/test_precision checks each line, and says where the bounds come from.
// AUTO is one of them, by device and file: F16 where the file's matrices are in F16, BF16_WEIGHTS where they are in
// BF16 (whose activations may exceed what F16 holds), and F32 elsewhere. On a device without 16-bit storage, or without
// cooperative matrices and 16-bit floats in arithmetic, and on processors, it is F32.
typedef enum vkf_model_precision {
    VKF_MODEL_PRECISION_AUTO = -1,
    VKF_MODEL_PRECISION_F32 = 0,
    VKF_MODEL_PRECISION_F16_WEIGHTS,  // half the memory; a parameter beyond 65,504 is refused
    VKF_MODEL_PRECISION_BF16_WEIGHTS, // half the memory and the range of f32, with fewer digits
    VKF_MODEL_PRECISION_F16,          // an activation beyond 65,504 becomes infinite, too
    VKF_MODEL_PRECISION_COUNT
} vkf_model_precision;

// Weights of linear layers in blocks of 32 elements along their depth, each with a scale of its own (see vkf_dtype).
// This saves memory, and bytes that a step of generation reads. All else is as the precision says. Weights whose depth
// is no multiple of 32, or which have fewer than 32 rows, stay as they are, and so do embedding tables; a table that is
// the projection, too, is kept in both forms. docs/quantization.md says what the blocks cost: for small random models,
// the hardest ones, the root mean square of the errors is below 0.05 (q8) and 0.65 (q4) of that of the results. The
// arithmetic adds no error to that of the precision, unless integer dot products are accelerated: these round
// activations to 8 bits, and the bounds are 0.08 and 0.65.
typedef enum vkf_quantization {
    VKF_QUANTIZATION_NONE = 0, // as stored: floating point, or blocks in a file of `vkformer quantize`
    VKF_QUANTIZATION_Q8,       // 8.5 bits to a weight
    VKF_QUANTIZATION_Q4,       // 4.5 bits to a weight
    VKF_QUANTIZATION_COUNT
} vkf_quantization;

// How parts of a model reach each other. All return false on a failure, which ends the run with VKF_ERROR_CANCELLED;
// whoever fails has said why.
typedef struct vkf_part_link {
    bool (*take)(void *user, void *out_bytes, size_t size_bytes);   // from the part before; not called by the first
    bool (*give)(void *user, const void *bytes, size_t size_bytes); // to the part behind; not called by the last
    bool (*share)(void *user, void *bytes, size_t size_bytes);      // the last part's bytes become those of all
    void *user;
} vkf_part_link;

// Some layers of a model that generates, which is cut between its layers: each process, or device, loads a part of
// them, and runs go through all parts (pipeline parallelism). Layers are those of the encoder, if there is one, and
// then those of the decoder.
//
// All parts make the same calls with the same arguments, in the same order. A run takes the hidden states of the part
// before it, and gives its own to the one behind it. The encoder's run goes through all parts: from its last layer on,
// what passes is the memory, which every part keeps for its decoder layers. The decoder's runs begin with the part that
// has its first layer, and parts before that only take what was chosen. What the last part has chosen it shares with
// all others, where it stands as if it had been chosen there. So every part knows how far each sequence is, and nobody
// tells the others. Parts are of one precision.
typedef struct vkf_layer_part {
    uint32_t first, count; // count at least 1
    vkf_part_link link;    // used as long as the model lives; to plan, it may be empty
    uint64_t reserved[4];  // 0; room for members of later versions
} vkf_layer_part;

typedef struct vkf_model_desc {
    // Either a directory with config.json and model.safetensors, in this project's form or as save_pretrained() of
    // Hugging Face's transformers wrote it; there model_type names the family, and docs/families.md lists them. If
    // there is no model.safetensors, its index or pytorch_model.bin is read: docs/models.md. An ENCODER's embedding
    // follows the files of sentence-transformers (modules.json, see docs/embeddings.md), or else is the mean. If these
    // name a directory for the Transformer, as older versions do, the model is read from there.
    const char *directory;
    // Or a configuration and a safetensors file, or a file of torch.save() (.bin, .pt, .pth). Tensor names are
    // PyTorch's: "encoder.layers.0...." for TRANSFORMER; "src_embed.weight", "transformer.encoder.layers.0....",
    // "generator.weight" for SEQ2SEQ.
    const vkf_model_config *config;
    const char *weights_path;
    // Optional: where the files are instead of the file system. `directory` is then a name for messages, and
    // `weights_path` that of a file in the source.
    const vkf_file_source *files;
    vkf_model_precision precision;
    vkf_quantization quantization;
    vkf_progress_fn progress; // optional, of loading, once per tensor; returning false gives VKF_ERROR_CANCELLED
    void *progress_user;
    // The weights are to be trained: they are kept in f32, whatever the file has, and in rows. AUTO is F32 then, and
    // another precision, a quantization or an adapter is INVALID_ARGUMENT. UNSUPPORTED: the file's weights are in
    // blocks, or the library has no part train. A session reads the weights anew in every run, but for T5's relative
    // bias, which it reads when it is created.
    bool trainable;
    // Optional: the directory of a LoRA adapter as Hugging Face's PEFT saves it. Its products are added to the weights
    // while these are loaded, before they are rounded, so that a run costs the same as without: docs/models.md. With
    // `files` the adapter's two files are in the source, and this is a name for messages. NULL: the adapter that stands
    // beside the model in `directory`, if there is one. `directory` may also have an adapter alone; its model is then
    // the directory that base_model_name_or_path of adapter_config.json names.
    const char *adapter_directory;
    // Optional: the layers to load. The model's configuration then has these alone. UNSUPPORTED: the model does not
    // generate, or there is an adapter. Not with `trainable`.
    const vkf_layer_part *part;
} vkf_model_desc;

// Ownership: the caller owns the model, and destroys it before or after the context and its sessions, which keep it.
// Statuses: INVALID_ARGUMENT, FILE (also where a file is truncated or written to while it is read), FORMAT (the message
// names the file, the tensor and the reason: it is missing, has another shape or type, or is not finite), UNSUPPORTED,
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, TOO_LARGE, CANCELLED, DEVICE_LOST, VULKAN.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_load(vkf_context *context, const vkf_model_desc *desc,
                                                    vkf_model **out_model);
// The bytes that vkf_model_load() will allocate; reads headers only. A directory may lack its weights: what config.json
// asks for is planned then.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan(vkf_context *context, const vkf_model_desc *desc,
                                                    vkf_memory_plan *out_plan);
// What vkf_model_get_config() and vkf_model_get_precision() will say of the model that vkf_model_load() makes; reads
// headers only, as vkf_model_plan() does. `out_precision` may be NULL. Statuses: as vkf_model_load().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan_config(vkf_context *context, const vkf_model_desc *desc,
                                                           vkf_model_config *out_config,
                                                           vkf_model_precision *out_precision);
VKF_API void vkf_model_destroy(vkf_model **model);
VKF_API void vkf_model_get_config(const vkf_model *model, vkf_model_config *out_config);
// The precision that the model was loaded with, which AUTO has become. F32 for NULL.
VKF_API vkf_model_precision vkf_model_get_precision(const vkf_model *model);

// What the model's files say of it, by key: a member of config.json ("architectures"), a member of an object in it by
// its path ("rope_scaling.factor"), or a string that safetensors files have beside their tensors ("format",
// "modelspec.title"), looked for in this order. A string is given without quotes, anything else as JSON. *inout_bytes
// is the capacity of out_text on entry, and the text's bytes without the terminating zero on return. The zero is always
// written, so the capacity must be one more than the text's bytes. out_text == NULL asks for the number of bytes.
// Statuses: INVALID_ARGUMENT (without a message, where there is no such key), TOO_LARGE (capacity too small),
// OUT_OF_HOST_MEMORY.
VKF_API VKF_MUST_CHECK vkf_status vkf_model_get_metadata(const vkf_model *model, const char *key, size_t *inout_bytes,
                                                         char *out_text);

// The kinds of attention whose weights a session can keep; each is a bit.
typedef enum vkf_attention_kind {
    VKF_ATTENTION_CROSS = 1,   // of SEQ2SEQ and TRANSFORMER: the decoder's, over the source
    VKF_ATTENTION_ENCODER = 2, // self attention; of all but DECODER
    VKF_ATTENTION_DECODER = 4, // self attention; of all but ENCODER
} vkf_attention_kind;

typedef struct vkf_session_desc {
    uint32_t max_batch;
    uint32_t max_source_len;
    uint32_t max_target_len;
    // Positions per sequence whose logits vkf_session_decode() can return. 0: a SEQ2SEQ or DECODER session only
    // generates. An ENCODER's head runs only in sessions that have more than 0 here.
    uint32_t max_logit_rows;
    // DECODER: how many positions of a prompt run at once; memory for activations grows with it. 0: 512 on GPUs and 256
    // on processors, or max_target_len if that is less. max_target_len is the context: the prompt's tokens and the
    // generated ones.
    uint32_t max_prompt_len;
    // Masks of nn.Transformer. A SEQ2SEQ session sets source and memory padding and the causal mask itself.
    vkf_attention_mask source_mask;
    vkf_attention_mask target_mask;
    vkf_attention_mask memory_mask;
    vkf_fully_masked fully_masked;
    // Keep the attention weights of these kinds, ORed, of every layer: see vkf_session_get_attention(). Attention then
    // runs in steps that write them. On the device they take max_batch * heads * queries * keys floats per layer, with
    // at most max_source_len queries, or max_prompt_len in a DECODER. The host, where rows are gathered, keeps them for
    // all positions. 0: none, at no cost. INVALID_ARGUMENT for a kind that the model does not have.
    uint32_t attention_weights;
    // DECODER and SEQ2SEQ: sequences that beam search follows for each of max_batch; 0: 1, no beam search. The
    // key/value cache has room for max_batch * max_beams sequences. At most VKF_MAX_BEAMS; not together with
    // attention_weights.
    uint32_t max_beams;
    // How keys and values are kept: F32 (0) means as the precision says; F16 halves the bytes where activations are in
    // f32, and rounds each value once. Where activations stay near 1, logits are then within 1e-2 + 1e-2 * |expected|,
    // in units of the largest of them.
    vkf_dtype cache_dtype;
} vkf_session_desc;

// Allocates activations and caches and records one command buffer per layer. Ownership: the caller owns the session,
// which keeps its model; they may be destroyed in any order.
// Statuses: INVALID_ARGUMENT, TOO_LARGE (a length beyond the model's positions, or more than the device binds),
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, UNSUPPORTED, DEVICE_LOST, VULKAN, SHADER.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_create(vkf_model *model, const vkf_session_desc *desc,
                                                        vkf_session **out_session);
// The bytes that vkf_session_create() will allocate. Statuses: as there.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_plan(vkf_model *model, const vkf_session_desc *desc,
                                                      vkf_memory_plan *out_plan);
// The same before the model is loaded, from headers alone: what vkf_session_create() will allocate beside
// vkf_model_plan()'s bytes. Like vkf_session_plan() it runs nothing, so creation may need other bytes if it finds a
// kernel to be wrong on this device.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan_session(vkf_context *context, const vkf_model_desc *desc,
                                                            const vkf_session_desc *session, vkf_memory_plan *out_plan);
VKF_API void vkf_session_destroy(vkf_session **session);

// One run of the encoder. Arrays are on the host and used only during the call. Numbers are f32 whatever the precision.
typedef struct vkf_encode_args {
    uint32_t batch;            // B
    uint32_t source_len;       // S
    const int32_t *source_ids; // (B, S), SEQ2SEQ: pad_id marks padding, wherever it stands; ENCODER
    // (B), tokens of each row, 1 to S; what stands behind them is padding, which may be any number for an ENCODER.
    // Optional for SEQ2SEQ: with it, pad_id before the length is a token like any other. The last token of a causal
    // ENCODER's sequence is the last that is not pad_id.
    const uint32_t *source_lengths;
    const int32_t *source_types; // optional, (B, S), ENCODER with token_types: each token's type; absent: all 0
    const float *source;         // (B, S, d_model), TRANSFORMER
    const void *source_mask;     // as source_mask.kind says: (S, S) or (B * H, S, S)
    const void *source_key_mask;
    float *out_memory;     // optional, (B, S, d_model): hidden states
    float *out_embeddings; // optional, (B, embedding_dim), ENCODER
    float *out_logits;     // optional, ENCODER with a head: see vkf_head
    uint32_t prompt_len;   // ENCODER: how many first tokens of each row a POOLING without_prompt leaves out
} vkf_encode_args;
// The statuses of a run, here and below, are INVALID_ARGUMENT, TOO_LARGE (beyond the session's sizes),
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST and VULKAN.
// Statuses: those of a run, and NOT_FINITE if embeddings or a head's logits that are asked for hold NaN or infinity;
// then nothing is written. Hidden states are given as they are: the caller checks whether they are finite.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_encode(vkf_session *session, const vkf_encode_args *args);

// One run of the decoder over whole target sequences (teacher forcing), after encode, with the same B. A DECODER has no
// out_hidden.
typedef struct vkf_decode_args {
    uint32_t target_len;         // T
    const int32_t *target_ids;   // (B, T), SEQ2SEQ
    const float *target;         // (B, T, d_model), TRANSFORMER
    const void *target_mask;     // TRANSFORMER, as target_mask.kind says
    const void *target_key_mask; // as target_mask.key_kind says
    const void *memory_mask;     // TRANSFORMER
    const void *memory_key_mask; // TRANSFORMER
    float *out_hidden;           // optional, (B, T, d_model), after the final norm
    float *out_logits;           // optional, SEQ2SEQ: (B, T, target_vocab); T <= max_logit_rows. DECODER: any T
    // B: of a DECODER, which has no encode() before; of others that of the encode(), or 0 for it.
    uint32_t batch;
    // Optional, DECODER: (B), how many of a row's first tokens are padding, each below T. Hidden states and logits of
    // padding mean nothing, and its ids may be any number.
    const uint32_t *target_starts;
} vkf_decode_args;
// Hidden states and logits are given as they are: the caller checks whether they are finite.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_decode(vkf_session *session, const vkf_decode_args *args);

// Greedy decoding with a key/value cache: encode, then one submission per token until every row has eos_id or max_len
// tokens. Of eos_ids, only eos_id ends a row; vkf_session_generate() heeds them all. Rows are [bos, ..., eos], padded
// with pad_id, or with 0 where there is none. SEQ2SEQ models only. It is the loop that programs write around
// torch.nn.Transformer, and stays beside vkf_session_generate() for what that cannot say: sources lie in a rectangle as
// in vkf_session_encode(), with padding wherever pad_id stands, and rows compare with PyTorch's token by token.
typedef struct vkf_greedy_args {
    uint32_t batch;            // B
    uint32_t source_len;       // S
    const int32_t *source_ids; // (B, S)
    uint32_t max_len;          // of a generated row, bos and eos included; 0: the session's max_target_len
    int32_t *out_ids;          // (B, max_len)
    uint32_t *out_lengths;     // (B), bos and eos counted
    vkf_progress_fn progress;  // optional, once per token; returning false gives VKF_ERROR_CANCELLED
    void *progress_user;
} vkf_greedy_args;
// Status NOT_FINITE if logits of a row that has not ended are NaN or plus infinity, or all minus infinity; then nothing
// is written. A session with VKF_FULLY_MASKED_NAN asks for NaN: there the token is 0 instead, as with torch.argmax().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_greedy(vkf_session *session, const vkf_greedy_args *args);

typedef enum vkf_stop_reason {
    VKF_STOP_LENGTH = 0, // max_new_tokens
    VKF_STOP_EOS,     // one of the model's eos_ids or of stop_ids, which stands at the end; or vkf_generate_args.ends
    VKF_STOP_CONTEXT, // the session's max_target_len is full
    VKF_STOP_CALLER,  // on_token returned false
    VKF_STOP_REASON_COUNT
} vkf_stop_reason;

// Called for every token that was generated; false ends its row, which keeps the token. The device may be at the next
// token already.
typedef bool (*vkf_token_fn)(void *user, uint32_t row, int32_t token);

// Whether a row ends with the last of its new tokens, of which there are `count` (>= 1).
typedef bool (*vkf_ends_fn)(void *user, uint32_t row, const int32_t *tokens, uint32_t count);

// Chooses the next token of a row from its logits, which it may change; (vocab). Those of the model's banned_ids are
// minus infinity, and nothing else was done to them. The result is the token's id.
typedef int32_t (*vkf_choose_fn)(void *user, uint32_t row, float *logits, uint32_t vocab);

// How long a generation took by the host's clock.
typedef struct vkf_generation_cost {
    uint64_t prompt_tokens; // of all rows, without padding
    uint64_t reused_tokens; // those of them that did not run, because the cache held them
    double prompt_ns;       // until the rows' first new tokens were taken
    uint64_t new_tokens;    // after those first ones
    double new_ns;
    uint64_t reserved[8]; // room for members of later versions
} vkf_generation_cost;

// A DECODER continues its prompts: each prompt runs in parts of max_prompt_len positions, then there is one submission
// per token until every row has ended. Rows of unequal lengths are padded on the left, which does not change their
// results. A SEQ2SEQ model takes its sources as the prompts: the encoder runs once, and generation begins behind
// bos_id, which is not among the new tokens. It follows forced_bos, forced_eos and banned_ids.
typedef struct vkf_generate_args {
    uint32_t batch;                 // B
    const int32_t *prompt_ids;      // the rows' tokens, row behind row
    const uint32_t *prompt_lengths; // (B), each at least 1
    uint32_t max_new_tokens;        // 0: until the context is full
    vkf_sampling sampling;
    vkf_beam_search beams; // with more than one, sampling.temperature is 0
    // Optional: what chooses the tokens instead of `sampling`, which is all zero then; not with beams. Steps wait for
    // it, and the logits of all rows are read back.
    vkf_choose_fn choose;
    void *choose_user;
    // DECODER: tokens at the beginning of a prompt that are in its row of the cache, too (see vkf_session_prefill()),
    // do not run again. Results are the same but for rounding. It has no effect with beams, with attention_weights, and
    // in models with dynamic or longrope rotary scaling.
    bool reuse_cache;
    const int32_t *stop_ids; // optional, (stop_count): they end a row as eos_ids do
    uint32_t stop_count;
    vkf_ends_fn ends; // optional: what else ends a row as eos_ids do; with beams it is called for every sequence that
                      // is among the best of its row
    void *ends_user;
    vkf_token_fn on_token; // optional; with beams called when all rows have ended, row by row
    void *on_token_user;
    vkf_progress_fn progress; // optional; called once per part of the prompt, once for sources
    void *progress_user;
    int32_t *out_ids;      // (B, N), N = max_new_tokens, or what the context leaves; a row is filled up with pad_id,
                           // or else eos_id, or else 0
    uint32_t *out_lengths; // (B)
    vkf_stop_reason *out_reasons;  // optional, (B)
    vkf_generation_cost *out_cost; // optional
} vkf_generate_args;
// Statuses: INVALID_ARGUMENT, TOO_LARGE (the longest prompt and max_new_tokens together exceed max_target_len; for
// SEQ2SEQ, either exceeds its own maximum), UNSUPPORTED (temperature or `choose` together with beams), CANCELLED,
// NOT_FINITE (as vkf_session_greedy()), and those of a run. INVALID_ARGUMENT, too, where `choose` gives no token.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_generate(vkf_session *session, const vkf_generate_args *args);

// The same in turns, so that generations of several sessions can take theirs one after the other in one thread: while
// one part of a model runs a batch, the others run other batches. Until vkf_generation_destroy() the session does
// nothing else (INVALID_ARGUMENT); with beams there is one turn.
typedef struct vkf_generation vkf_generation;
// Runs the prompts. What `args` points to is used until the generation ends, `args` itself during the call alone.
// Ownership: the caller's; the generation keeps its session. Statuses: as vkf_session_generate().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generation_begin(vkf_session *session, const vkf_generate_args *args,
                                                          vkf_generation **out_generation);
// The same without waiting for the prompts, or for the steps behind them: what a turn runs is submitted, and the next
// turn waits for it, at once where vkf_session_ended() says that it has ended. Of prompts with more than max_prompt_len
// positions, and of sources, what comes before the last run is waited for. INVALID_ARGUMENT also with beams, in a
// session with attention_weights, and of a part of a model. A probe is not shown such runs.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generation_submit(vkf_session *session, const vkf_generate_args *args,
                                                           vkf_generation **out_generation);
// Takes what the last run has chosen, and runs, or submits, the next step. *out_more is false when nothing is left to
// run: then the results are in the arrays of `args`. Statuses: as above; INVALID_ARGUMENT behind the last turn, or one
// that failed.
VKF_API VKF_MUST_CHECK vkf_status vkf_generation_turn(vkf_generation *generation, bool *out_more);
VKF_API void vkf_generation_destroy(vkf_generation **generation);

// ---- token by token: DECODER alone
//
// A session remembers, for each row of its batch, the tokens whose keys and values its cache holds. prefill() and
// step() append tokens to them, and run nothing but these; vkf_session_truncate() takes tokens back. What decode() and
// generate() leave is appended to in the same way: after generate() a row holds its prompt and its new tokens but the
// last. Rows may have unequal numbers of tokens, up to max_target_len. Logits are those of vkf_session_decode() of the
// whole row, but for rounding. With dynamic or longrope rotary scaling, tokens that are in the cache keep the rotation
// that they had, as with a cache of transformers.
//
// A row with fewer new tokens than another one of the same call runs some of its last tokens again, as many as the
// other one is ahead. Where the rows' numbers of new tokens differ, keys and values are moved within the cache.
typedef struct vkf_prefill_args {
    uint32_t batch;         // B: rows 0 to B - 1; the others stay as they are
    const int32_t *ids;     // the rows' new tokens, row behind row
    const uint32_t *counts; // (B), how many each row has; 0: none, the row stays as it is
    float *out_logits;      // optional, (B, target_vocab): of each row's last token; not written where it has none
    float *out_all_logits;  // optional, (sum of counts, target_vocab): of all new tokens; where max_logit_rows is not 0
    vkf_progress_fn progress; // optional; called once per part
    void *progress_user;
} vkf_prefill_args;
// Logits are given as they are: the caller checks whether they are finite. Statuses: INVALID_ARGUMENT (also: the model
// is no DECODER, the session keeps attention_weights, or no row has a new token), TOO_LARGE (a row would have more than
// max_target_len tokens), CANCELLED, and those of a run. After one of the last two, rows 0 to B - 1 may be empty.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_prefill(vkf_session *session, const vkf_prefill_args *args);

// One more token for each row.
typedef struct vkf_step_args {
    uint32_t batch;     // B
    const int32_t *ids; // (B); -1: none, the row stays as it is
    float *out_logits;  // optional, (B, target_vocab): of each row's last token; not written where it has none
} vkf_step_args;
// Statuses: as vkf_session_prefill().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_step(vkf_session *session, const vkf_step_args *args);

// Forgets what is behind the first `position` tokens of a row. Nothing runs. Status INVALID_ARGUMENT (not a DECODER's;
// no such row, or it has fewer tokens).
VKF_API VKF_MUST_CHECK vkf_status vkf_session_truncate(vkf_session *session, uint32_t row, uint32_t position);
// How many tokens a row has; 0 for NULL, and where there is no such row.
VKF_API uint32_t vkf_session_get_position(const vkf_session *session, uint32_t row);
// The tokens of a row, (vkf_session_get_position()); NULL where it has none. They are valid until the next call for the
// session.
VKF_API const int32_t *vkf_session_get_tokens(const vkf_session *session, uint32_t row);

// ---- runs that nobody waits for
//
// vkf_session_submit_encode(), vkf_session_submit_prefill() and vkf_session_submit_step() of <vkformer/vulkan.h> begin
// a run and return. One run of a session may be under way. Whatever is called next for the session waits for it first,
// vkf_session_destroy() included, but not vkf_session_ended() and what takes a const session.

// Waits until the run that is under way has ended; returns at once if there is none. Before that the host must not
// touch the session's tensors. Statuses: OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN; then the rows of a DECODER are empty.
VKF_API VKF_MUST_CHECK vkf_status vkf_session_wait(vkf_session *session);
// Whether it has ended, without waiting. Statuses: DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_session_ended(vkf_session *session, bool *out_ended);

// What a session reads and leaves on the device. Shapes here are those of a run; rows of a run that is smaller than the
// session's maximum lie without gaps at the tensor's beginning.
typedef enum vkf_session_data {
    VKF_SESSION_SOURCE_IDS = 0, // (B, S) i32; models whose encoder reads tokens
    VKF_SESSION_MEMORY,         // (B, S, d_model) f32 or f16: hidden states; of a TRANSFORMER its source before the run
    VKF_SESSION_EMBEDDINGS,     // (B, embedding_dim) f32; ENCODER
    VKF_SESSION_LOGITS, // f32; of a DECODER's step (B, target_vocab); of an ENCODER's head, where the session has
                        // max_logit_rows, see vkf_head
    VKF_SESSION_DATA_COUNT
} vkf_session_data;
// The tensor at the session's maximum sizes; false where it has none. Its buffer belongs to the session and lives as
// long; vkf_buffer_get_vulkan() tells the VkBuffer. The next run may overwrite it.
VKF_API bool vkf_session_get_tensor(const vkf_session *session, vkf_session_data data, vkf_tensor *out_tensor);

// ---- saved caches: DECODER alone
//
// What a session's rows hold can be saved, so that a long prompt runs once, and later sessions go on from it. It is
// good for sessions with the same model, precision, quantization and cache_dtype, with room for its rows. Damage to any
// byte is noticed. Who can write a saved cache can give the model keys and values of other tokens than it says, and do
// nothing else.

// Takes, or gives, the next bytes of a saved cache. Returning false ends the call with VKF_ERROR_FILE. size_bytes is
// never 0.
typedef bool (*vkf_write_fn)(void *user, const void *bytes, size_t size_bytes);
typedef bool (*vkf_read_fn)(void *user, void *out_bytes, size_t size_bytes);
// The file appears under its name when it is complete, and replaces one that is there. Statuses: INVALID_ARGUMENT (the
// model is no DECODER, or the session keeps attention_weights), FILE, OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_session_save(vkf_session *session, const char *path);
VKF_API VKF_MUST_CHECK vkf_status vkf_session_save_to(vkf_session *session, vkf_write_fn write, void *user);
// The rows become those of the saved cache, and all others empty. After a failure all may be empty. Further statuses:
// FORMAT (no saved cache, one of another version or model, or a damaged one), TOO_LARGE (it has more rows than the
// session, or longer ones).
VKF_API VKF_MUST_CHECK vkf_status vkf_session_restore(vkf_session *session, const char *path);
VKF_API VKF_MUST_CHECK vkf_status vkf_session_restore_from(vkf_session *session, vkf_read_fn read, void *user);

// The weights of one kind of attention in layer `layer` for batch entry `row`: (H, query_len, S). They are gathered
// over all parts and steps of the last encode, or of the last decode, greedy or generate run. H is the number of query
// heads. S is source_len of that run, padding included (its weights are 0), and query_len for the decoder's self
// attention; for a TRANSFORMER whose targets are not causal, ask for all of them. Positions are places in the run's
// rows: those of a DECODER begin behind its padding, whose own rows mean nothing. Weights are 0 where masks exclude; a
// row sums to 1, or is as fully_masked says. The last token of a generation was never a query.
// Statuses: INVALID_ARGUMENT (not one kind, or one that the session does not keep; no such layer, row or number of
// positions in the last run).
VKF_API VKF_MUST_CHECK vkf_status vkf_session_get_attention(vkf_session *session, vkf_attention_kind kind,
                                                            uint32_t layer, uint32_t row, uint32_t query_len,
                                                            float *out_weights);
// H and S of what that writes. Status INVALID_ARGUMENT (not one kind, or one that the session does not keep; no such
// number of positions in the last run).
VKF_API VKF_MUST_CHECK vkf_status vkf_session_get_attention_shape(const vkf_session *session, vkf_attention_kind kind,
                                                                  uint32_t query_len, uint32_t *out_heads,
                                                                  uint32_t *out_keys);

// How often command buffers were recorded in all, and how many there are: one per layer, embedding and head for each
// class of runs that came so far. (On GPUs all of a run are recorded into one more, which is not counted here: a device
// takes microseconds from one command buffer to the next.) On GPUs runs of 1, up to 8, 32, 64, 128, 256, 512 and more
// rows (positions of all sequences) are classes of their own, with kernels that suit them, and so are greedy steps;
// steps are there twice, as two of them are in flight. On processors there is one class. Those of the largest run are
// made with the session, the others when the first run of a class comes.
VKF_API uint32_t vkf_session_get_record_count(const vkf_session *session);
VKF_API uint32_t vkf_session_get_command_buffer_count(const vkf_session *session);

// GPU time per part of the last run, in a context with `timestamps`: "encoder.0", "decoder.1", "embed", "head"; kernel
// is NULL. The protocol is vkf_layer_get_timings()'s: out_timings == NULL asks for the number.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_get_timings(vkf_session *session, uint32_t *inout_count,
                                                             vkf_timing *out_timings);

// Host time of the session's last submission: the encoder's, a whole decode's, or one token's after greedy and in its
// progress callback. On the device it took at most wait_ns, which may include the end of the step ahead of it; with
// `timestamps`, vkf_session_get_timings() says how long.
// Status INVALID_ARGUMENT (never run).
typedef struct vkf_run_cost {
    double host_ns; // sizes and parameters written, recorded command buffers submitted
    double wait_ns; // from there until the host knew that the device had ended
} vkf_run_cost;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_get_run_cost(const vkf_session *session, vkf_run_cost *out_cost);

// Token strings and ids: vocabulary.json of a SEQ2SEQ model directory. Text is UTF-8. It is no vkf_tokenizer because it
// has two lists, in which an id is a token of the source and another one of the target, and because a library without
// its part text has it, too.
typedef struct vkf_vocabulary vkf_vocabulary;
// Ownership: the caller owns the vocabulary, and destroys it before or after the context. Statuses: INVALID_ARGUMENT,
// FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_API VKF_MUST_CHECK vkf_status vkf_vocabulary_load(vkf_context *context, const char *directory,
                                                      vkf_vocabulary **out_vocabulary);
VKF_API void vkf_vocabulary_destroy(vkf_vocabulary **vocabulary);
// Greedy longest match of the source tokens; what matches no token becomes unk_id, one per code point.
// *inout_count: capacity on entry, number of ids on return; out_ids == NULL asks for the number.
// Statuses: INVALID_ARGUMENT, TOO_LARGE (capacity too small).
VKF_API VKF_MUST_CHECK vkf_status vkf_vocabulary_encode(const vkf_vocabulary *vocabulary, const char *text,
                                                        size_t text_bytes, uint32_t *inout_count, int32_t *out_ids);
// The concatenated strings of target tokens, without special ones (pad, bos, eos, unk). *inout_bytes does not count the
// terminating zero, which is always written when out_text is given: capacity must be one more than the count.
// out_text may be NULL, to ask for the count.
VKF_API VKF_MUST_CHECK vkf_status vkf_vocabulary_decode(const vkf_vocabulary *vocabulary, const int32_t *ids,
                                                        uint32_t count, size_t *inout_bytes, char *out_text);
// The string of one source or target token; NULL when there is no such id. Lives as long as the vocabulary.
VKF_API const char *vkf_vocabulary_source_token(const vkf_vocabulary *vocabulary, int32_t id);
VKF_API const char *vkf_vocabulary_target_token(const vkf_vocabulary *vocabulary, int32_t id);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/model.h>

#endif
