// Model families of Hugging Face's transformers as data: the keys under which config.json holds the properties of a
// model, and the names under which a file holds its tensors. A family is a file family_NAME.c with one vkf__family,
// listed in families.c. The code that reads these tables knows no family by name.
#ifndef VKF_MODEL_FAMILY_H
#define VKF_MODEL_FAMILY_H

#include <jansson.h>

#include "model/family/config.h"
#include "model/family/weight_names.h"

// What a tensor is for. The roles of a layer are in the order in which their tensors are put on the device, so tensors
// that are multiplied as one must be adjacent here; a model whose slots are not is refused (weight_fusion.h).
typedef enum vkf__weight_role {
    // Once in a model.
    VKF_WEIGHT_WORDS = 0,    // (vocab, d_model)
    VKF_WEIGHT_TARGET_WORDS, // the same for a decoder that has its own
    VKF_WEIGHT_TYPES,        // (token_types, d_model)
    VKF_WEIGHT_HEAD_DENSE,   // (d_model, d_model); from here to PROJECTION_BIAS names go without .base
    VKF_WEIGHT_HEAD_DENSE_BIAS,
    VKF_WEIGHT_HEAD_NORM_WEIGHT,
    VKF_WEIGHT_HEAD_NORM_BIAS,
    VKF_WEIGHT_PROJECTION, // (vocab or head_outputs, d_model)
    VKF_WEIGHT_PROJECTION_BIAS,
    // Once on a side, around its layers.
    VKF_WEIGHT_POSITIONS, // (position_offset + positions, d_model)
    VKF_WEIGHT_EMBEDDING_NORM_WEIGHT,
    VKF_WEIGHT_EMBEDDING_NORM_BIAS,
    VKF_WEIGHT_FINAL_NORM_WEIGHT, // after the last layer
    VKF_WEIGHT_FINAL_NORM_BIAS,
    VKF_WEIGHT_RELATIVE_BIAS, // (relative_buckets, num_heads)
    // Once in a layer.
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
    VKF_WEIGHT_UNGATED_1,      // the same in models without a gate, if it has another name in these
    VKF_WEIGHT_GATE_BIAS,
    VKF_WEIGHT_FEED_FORWARD_1_BIAS,
    VKF_WEIGHT_FEED_FORWARD_2,
    VKF_WEIGHT_FEED_FORWARD_2_BIAS,
    VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT,
    VKF_WEIGHT_FEED_FORWARD_NORM_BIAS,
    VKF_WEIGHT_ROLE_COUNT
} vkf__weight_role;

// A key whose value must be this one where the key is present; other values are not built.
typedef struct vkf__family_demand {
    const char *key, *value;
} vkf__family_demand;

// How a file holds the weights and biases of queries, keys and values.
typedef enum vkf__fused {
    VKF_SEPARATE = 0,
    VKF_FUSED,         // one tensor: the rows of q, then k's, then v's
    VKF_FUSED_BY_HEAD, // one tensor: for each head its rows of q, k and v
} vkf__fused;

// Indices of a head's tensors in vkf__family_head.weights.
enum {
    VKF_HEAD_DENSE = 0,
    VKF_HEAD_DENSE_BIAS,
    VKF_HEAD_NORM_WEIGHT,
    VKF_HEAD_NORM_BIAS,
    VKF_HEAD_PROJECTION,
    VKF_HEAD_PROJECTION_BIAS,
    VKF_HEAD_ROLE_COUNT
};

// The head that one model class of a family has after its layers.
typedef struct vkf__family_head {
    const char *architecture; // as config.json names the class: "BertForMaskedLM"
    vkf_head head;
    const char *weights[VKF_HEAD_ROLE_COUNT]; // NULL: there is none
    const char *own_bias;                     // the projection's bias where a file has it by this name; NULL: none has
    vkf_pooling pooling;                      // for SEQUENCE_CLASSIFICATION, unless .pooling_key says another
    vkf_activation activation;                // after the dense, unless .activation_key says another; 0: the layers'
    const char *activation_key, *pooling_key;
} vkf__family_head;

#define VKF_FAMILY_OTHER_EMBEDDINGS 2

struct vkf__family {
    const char *model_types[4];                 // as in config.json; the rest NULL
    const char *base;                           // what models with a head put before the tensors' names: "bert."
    const char *layer;                          // what goes before a layer's number: "encoder.layer."
    const char *weights[VKF_WEIGHT_ROLE_COUNT]; // NULL: the family has no such tensor; fused ones share a name
    const char *other_embeddings[VKF_FAMILY_OTHER_EMBEDDINGS]; // names that the token embedding may have instead
    // The decoder of a SEQ2SEQ family, whose encoder has the names above. Roles that are once in a model are not here.
    const char *decoder_layer;
    const char *decoder_weights[VKF_WEIGHT_ROLE_COUNT];
    const char *own_words;         // the encoder's table where a file has one for each side; NULL: none has
    bool bias_as_row;              // the projection's bias is (1, vocab)
    const vkf__family_head *heads; // ends with one without a name; NULL: none. A DECODER with a head runs as an ENCODER
    vkf__fused qkv;
    bool gate_fused; // the gate's rows and those of the first matrix are one tensor
    bool transposed; // linear weights are stored (in, out)
    // What holds where no key says otherwise: the kind, the properties that all models of the family share, and the
    // defaults of transformers' configuration class. A size that is 0 here must be in the file or follow from others.
    vkf_model_config config;
    struct {
        const char *d_model, *num_heads, *dim_feedforward, *num_layers, *activation, *vocab;
        const char *max_positions;
        // From here on a key may be NULL; then .config holds.
        const char *token_types, *layer_norm_eps;
        const char *num_kv_heads, *head_dim;  // null, or 0 in .config: num_heads, and d_model / num_heads
        const char *causal;                   // whether an ENCODER is causal
        const char *window;                   // null: none
        const char *windowed, *windowed_from; // whether there is a window, and the first layer that has it
        const char *full_every;               // the distance between layers without a window
        const char *parallel, *attention_bias, *feed_forward_bias, *norm_bias, *head_dense_bias, *projection_bias;
        const char *rotary_theta, *rotary_part, *window_rotary_theta;
        // For SEQ2SEQ.
        const char *decoder_layers, *decoder_heads, *decoder_feed_forward, *scaled_embedding;
        const char *relative_buckets, *relative_distance;
        const char *scaled_logits;    // if present, whether logits are scaled; see .scales_tied_logits
        const char *gated_activation; // "gated-gelu" and the like, in place of .activation
    } keys;
    float rotary_theta, rotary_part; // theta 0: the family has no rotary embedding
    float window_rotary_theta;
    uint32_t windowed_from, full_every; // see the keys of these names
    bool ignores_layer_types;           // layer_types does not decide which layers have the window
    bool scales_tied_logits;            // logits of a tied projection, by 1 / sqrt(d_model)
    uint32_t feed_forward_factor;       // dim_feedforward / d_model where its key is absent or null; 0: it is required
    bool positions_after_pad;           // position 0 has row pad_token_id + 1
    vkf__family_demand demands[4];
};

// The entry of the family's list for a configuration's head; NULL where it has none.
const vkf__family_head *vkf__family_head_of(const vkf__family *family, const vkf_model_config *config);

// Reads layer_norm_eps. What a file says is meant: its 0 is VKF_ZERO. Statuses: those of vkf__json_f32().
VKF_MUST_CHECK vkf_status vkf__read_eps(const vkf__host *host, const char *path, const json_t *root, const char *key,
                                        vkf_model_config *config);

// Makes a configuration of config.json alone; other files of the directory are not read. Statuses: FORMAT (names file,
// key and reason), UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__family_config(const vkf__host *host, const char *path, const json_t *root,
                                             const vkf__family *family, vkf_model_config *out_config);
// Turns a DECODER that has a head or makes embeddings into an ENCODER with causal layers: it reads whole texts and
// generates none.
void vkf__make_causal_encoder(vkf_model_config *config);

// Corrects the configuration by what the file holds. A model whose file has a projection of its own uses it, whatever
// tie_word_embeddings says; transformers 5 does the same, as it writes true there for every T5. An untied
// encoder-decoder whose file has a word table for each side uses both.
void vkf__family_untie(const vkf__family *family, const vkf__checkpoint *checkpoint, vkf_model_config *config);

// Refuses a decoder whose file has a classifier's tensor although config.json names no class that has one: such a model
// was not trained to predict the next token. Status UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__family_check_class(const vkf__host *host, const vkf__family *family,
                                                  const vkf__checkpoint *checkpoint, const vkf_model_config *config);

// Fills `slots` when it is not NULL; always returns their number. `base` goes before names: "", or family->base.
// `checkpoint`, where it is not NULL, decides between the names that a tensor may have. `config` has the layers of
// `part`.
size_t vkf__family_slots(const vkf__family *family, const char *base, const vkf__checkpoint *checkpoint,
                         const vkf_model_config *config, const vkf__layer_part *part, vkf__weights *weights,
                         vkf__weight_slot *slots);

#endif
