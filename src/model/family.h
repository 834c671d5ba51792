// Model families of Hugging Face's transformers as data: under which keys config.json holds what a model is made of, and
// under which names a file holds its tensors. A family is a file family_NAME.c with one vkf__family, and a line in
// vkf__families; what reads the tables knows no family by name.
#ifndef VKF_MODEL_FAMILY_H
#define VKF_MODEL_FAMILY_H

#include <jansson.h>

#include "model/config.h"
#include "model/weight_names.h"

// What a tensor is for. Those of a layer come in the order in which they are put on the device: q, k and v side by side
// are multiplied as one.
typedef enum vkf__weight_role {
    VKF_WEIGHT_WORDS = 0, // (vocab, d_model)
    VKF_WEIGHT_POSITIONS, // (position_offset + max_source_len, d_model)
    VKF_WEIGHT_TYPES,     // (token_types, d_model)
    VKF_WEIGHT_EMBEDDING_NORM_WEIGHT,
    VKF_WEIGHT_EMBEDDING_NORM_BIAS,
    VKF_WEIGHT_Q, // (d_model, d_model), of layers from here on
    VKF_WEIGHT_K,
    VKF_WEIGHT_V,
    VKF_WEIGHT_Q_BIAS,
    VKF_WEIGHT_K_BIAS,
    VKF_WEIGHT_V_BIAS,
    VKF_WEIGHT_OUT,
    VKF_WEIGHT_OUT_BIAS,
    VKF_WEIGHT_ATTENTION_NORM_WEIGHT,
    VKF_WEIGHT_ATTENTION_NORM_BIAS,
    VKF_WEIGHT_FEED_FORWARD_1, // (dim_feedforward, d_model)
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

struct vkf__family {
    const char *model_types[4];                 // of config.json; the rest NULL
    const char *base;                           // what models with a head put before the tensors' names: "bert."
    const char *layer;                          // what stands before a layer's number: "encoder.layer."
    const char *weights[VKF_WEIGHT_ROLE_COUNT]; // NULL: the family has no such tensor
    struct {
        const char *d_model, *num_heads, *dim_feedforward, *num_layers, *activation, *vocab, *max_positions;
        const char *token_types;    // NULL: none
        const char *layer_norm_eps; // NULL: .layer_norm_eps
    } keys;
    float layer_norm_eps;
    bool positions_after_pad; // position 0 has row pad_token_id + 1
    vkf__family_demand demands[4];
};

extern const vkf__family vkf__family_bert;
extern const vkf__family vkf__family_distilbert;
extern const vkf__family vkf__family_roberta;

// NULL when no family has this model_type.
const vkf__family *vkf__family_find(const char *model_type);
// "bert, distilbert, ...": every model_type.
void vkf__family_names(char *out_text, size_t capacity);

// What config.json says, as the configuration of an ENCODER; pooling is not there. Statuses: FORMAT (names file, key and
// reason), UNSUPPORTED.
VKF_MUST_CHECK vkf_status vkf__family_config(const vkf__host *host, const char *path, const json_t *root,
                                             const vkf__family *family, vkf_model_config *out_config);

// Fills `slots` when it is not NULL; always returns their number. `base` stands before all names: "", or family->base.
size_t vkf__family_slots(const vkf__family *family, const char *base, const vkf_model_config *config,
                         vkf__weights *weights, vkf__weight_slot *slots);

#endif
