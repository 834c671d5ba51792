// Model families of Hugging Face's transformers as data: under which keys config.json holds what a model is made of, and
// under which names a file holds its tensors. A family is a file family_NAME.c with one vkf__family, and a line in
// vkf__families; what reads the tables knows no family by name.
#ifndef VKF_MODEL_FAMILY_H
#define VKF_MODEL_FAMILY_H

#include <jansson.h>

#include "model/config.h"
#include "model/weight_names.h"

// What a tensor is for. Those of a layer come in the order in which they are put on the device: what is multiplied as one
// is listed one behind the other, and a model whose slots are not is refused (weight_fusion.h).
typedef enum vkf__weight_role {
    // Of the model.
    VKF_WEIGHT_WORDS = 0,    // (vocab, d_model)
    VKF_WEIGHT_TARGET_WORDS, // the same of a decoder that has its own
    VKF_WEIGHT_TYPES,        // (token_types, d_model)
    VKF_WEIGHT_HEAD_DENSE,   // (d_model, d_model); .base stands not before names from here on, but for those below
    VKF_WEIGHT_HEAD_DENSE_BIAS,
    VKF_WEIGHT_HEAD_NORM_WEIGHT,
    VKF_WEIGHT_HEAD_NORM_BIAS,
    VKF_WEIGHT_PROJECTION, // (vocab or head_outputs, d_model)
    VKF_WEIGHT_PROJECTION_BIAS,
    // Around the layers of a side.
    VKF_WEIGHT_POSITIONS, // (position_offset + positions, d_model)
    VKF_WEIGHT_EMBEDDING_NORM_WEIGHT,
    VKF_WEIGHT_EMBEDDING_NORM_BIAS,
    VKF_WEIGHT_FINAL_NORM_WEIGHT, // behind the last layer
    VKF_WEIGHT_FINAL_NORM_BIAS,
    VKF_WEIGHT_RELATIVE_BIAS, // (relative_buckets, num_heads)
    // Of layers.
    VKF_WEIGHT_Q, // (num_heads * head_dim, d_model)
    VKF_WEIGHT_K, // (num_kv_heads * head_dim, d_model)
    VKF_WEIGHT_V,
    VKF_WEIGHT_Q_BIAS,
    VKF_WEIGHT_K_BIAS,
    VKF_WEIGHT_V_BIAS,
    VKF_WEIGHT_Q_NORM, // (head_dim)
    VKF_WEIGHT_K_NORM,
    VKF_WEIGHT_OUT, // (d_model, num_heads * head_dim)
    VKF_WEIGHT_OUT_BIAS,
    VKF_WEIGHT_ATTENTION_NORM_WEIGHT,
    VKF_WEIGHT_ATTENTION_NORM_BIAS,
    VKF_WEIGHT_CROSS_Q, // of a decoder that has a memory
    VKF_WEIGHT_CROSS_K,
    VKF_WEIGHT_CROSS_V,
    VKF_WEIGHT_CROSS_Q_BIAS,
    VKF_WEIGHT_CROSS_K_BIAS,
    VKF_WEIGHT_CROSS_V_BIAS,
    VKF_WEIGHT_CROSS_OUT,
    VKF_WEIGHT_CROSS_OUT_BIAS,
    VKF_WEIGHT_CROSS_NORM_WEIGHT,
    VKF_WEIGHT_CROSS_NORM_BIAS,
    VKF_WEIGHT_GATE,           // (dim_feedforward, d_model)
    VKF_WEIGHT_FEED_FORWARD_1, // (dim_feedforward, d_model)
    VKF_WEIGHT_UNGATED_1,      // the same in models without a gate, where it has another name there
    VKF_WEIGHT_GATE_BIAS,
    VKF_WEIGHT_FEED_FORWARD_1_BIAS,
    VKF_WEIGHT_FEED_FORWARD_2,
    VKF_WEIGHT_FEED_FORWARD_2_BIAS,
    VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT,
    VKF_WEIGHT_FEED_FORWARD_NORM_BIAS,
    VKF_WEIGHT_ROLE_COUNT
} vkf__weight_role;

// A key whose value has to be this one, where it is present: what else there is, is not built.
typedef struct vkf__family_demand {
    const char *key, *value;
} vkf__family_demand;

// How a file holds the weights and biases of queries, keys and values.
typedef enum vkf__fused {
    VKF_SEPARATE = 0,
    VKF_FUSED,         // one tensor: the rows of q, then k's, then v's
    VKF_FUSED_BY_HEAD, // one tensor: for each head its rows of q, k and v
} vkf__fused;

// Places of a head's tensors in its list.
enum {
    VKF_HEAD_DENSE = 0,
    VKF_HEAD_DENSE_BIAS,
    VKF_HEAD_NORM_WEIGHT,
    VKF_HEAD_NORM_BIAS,
    VKF_HEAD_PROJECTION,
    VKF_HEAD_PROJECTION_BIAS,
    VKF_HEAD_ROLE_COUNT
};

// What models of a class of the family have behind the layers.
typedef struct vkf__family_head {
    const char *architecture; // as config.json names the class: "BertForMaskedLM"
    vkf_head head;
    const char *weights[VKF_HEAD_ROLE_COUNT]; // NULL: there is none
    const char *own_bias;                     // the projection's, in files that have it; NULL: never
    vkf_pooling pooling;                      // of SEQUENCE_CLASSIFICATION, where .pooling_key is NULL
    vkf_activation activation;                // of the dense, where no key says another; NONE: that of the layers
    const char *activation_key, *pooling_key;
} vkf__family_head;

#define VKF_FAMILY_OTHER_WORDS 2

struct vkf__family {
    const char *model_types[4];                      // of config.json; the rest NULL
    const char *base;                                // what models with a head put before the tensors' names: "bert."
    const char *layer;                               // what stands before a layer's number: "encoder.layer."
    const char *weights[VKF_WEIGHT_ROLE_COUNT];      // NULL: the family has no such tensor; fused ones have one name
    const char *other_words[VKF_FAMILY_OTHER_WORDS]; // names under which a file may have the words' table instead
    // Of SEQ2SEQ, whose encoder is the one above: the same for its decoder, without what is of the model.
    const char *decoder_layer;
    const char *decoder_weights[VKF_WEIGHT_ROLE_COUNT];
    const char *own_words;         // the encoder's table, in files where it is not the decoder's; NULL: there are none
    bool bias_as_row;              // the projection's bias is (1, vocab)
    const vkf__family_head *heads; // up to one without a name; NULL: none. A DECODER with one is run as an ENCODER
    vkf__fused qkv;
    bool gate_fused; // the gate's rows and those of the first matrix are one tensor
    bool transposed; // linear weights are stored (in, out)
    // What a model is where no key says otherwise: its kind, whatever all models of the family have in common, and the
    // defaults of transformers' configuration class. A size that is 0 here has to be in the file, or follows from
    // others.
    vkf_model_config config;
    struct {
        const char *d_model, *num_heads, *dim_feedforward, *num_layers, *activation, *vocab;
        const char *max_positions;
        // From here on NULL means what .config says.
        const char *token_types, *layer_norm_eps;
        const char *num_kv_heads, *head_dim;  // null, or 0 in .config: num_heads, and d_model / num_heads
        const char *causal;                   // whether an ENCODER is
        const char *window;                   // null: none
        const char *windowed, *windowed_from; // whether there is a window, and its first layer
        const char *full_every;               // layers from one without a window to the next
        const char *parallel, *attention_bias, *feed_forward_bias, *norm_bias, *head_dense_bias, *projection_bias;
        const char *rotary_theta, *rotary_part, *window_rotary_theta;
        // Of SEQ2SEQ.
        const char *decoder_layers, *decoder_heads, *decoder_feed_forward, *scaled_embedding;
        const char *relative_buckets, *relative_distance;
        const char *scaled_logits;    // whether the tied projection's are, where it is there
        const char *gated_activation; // "gated-gelu" and the like, in place of .activation
    } keys;
    float rotary_theta, rotary_part; // theta 0: the family has no rotary embedding
    float window_rotary_theta;
    uint32_t windowed_from, full_every; // see the keys of these names
    bool ignores_layer_types;           // all layers have the window
    bool scales_tied_logits;            // by 1 / sqrt(d_model)
    uint32_t feed_forward_factor;       // dim_feedforward is so many times d_model where its key is absent or null
    bool positions_after_pad;           // position 0 has row pad_token_id + 1
    vkf__family_demand demands[4];
};

extern const vkf__family vkf__family_bart;
extern const vkf__family vkf__family_bert;
extern const vkf__family vkf__family_distilbert;
extern const vkf__family vkf__family_gpt2;
extern const vkf__family vkf__family_gpt_neox;
extern const vkf__family vkf__family_llama;
extern const vkf__family vkf__family_marian;
extern const vkf__family vkf__family_mistral;
extern const vkf__family vkf__family_modernbert;
extern const vkf__family vkf__family_qwen2;
extern const vkf__family vkf__family_qwen3;
extern const vkf__family vkf__family_roberta;
extern const vkf__family vkf__family_t5;

// NULL when no family has this model_type.
const vkf__family *vkf__family_find(const char *model_type);
// "bert, distilbert, ...": every model_type.
void vkf__family_names(char *out_text, size_t capacity);

// The head that a configuration has, in the family's list; NULL: it has none.
const vkf__family_head *vkf__family_head_of(const vkf__family *family, const vkf_model_config *config);

// What config.json says; what stands in other files of the directory is not there. Statuses: FORMAT (names file, key and
// reason), UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__family_config(const vkf__host *host, const char *path, const json_t *root,
                                             const vkf__family *family, vkf_model_config *out_config);

// What the file itself decides. A model whose file has a projection of its own uses that, whatever tie_word_embeddings
// says, as transformers 5 does: it writes true there for every T5. An encoder-decoder that is not tied and has a table
// for either side uses these.
void vkf__family_untie(const vkf__family *family, const vkf__checkpoint *checkpoint, vkf_model_config *config);

// A decoder whose file has a classifier's tensor, though config.json names no class that has one, says no next token.
// Status UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__family_check_class(const vkf__host *host, const vkf__family *family,
                                                  const vkf__checkpoint *checkpoint, const vkf_model_config *config);

// Fills `slots` when it is not NULL; always returns their number. `base` stands before names: "", or family->base.
// `checkpoint`, where it is not NULL, has some tensors under one name or another.
size_t vkf__family_slots(const vkf__family *family, const char *base, const vkf__checkpoint *checkpoint,
                         const vkf_model_config *config, vkf__weights *weights, vkf__weight_slot *slots);

#endif
