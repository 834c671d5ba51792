// A model's loss, recorded on a tape: tokens, layers, head and loss of each kind of model.
#ifndef VKF_TRAINING_MODEL_GRAPH_H
#define VKF_TRAINING_MODEL_GRAPH_H

#include <vkformer/train.h>

#include "training/layers.h"
#include "training/parameters.h"

// The sides of a model whose tokens have ids.
typedef enum vkf__graph_side { VKF_SIDE_SOURCE = 0, VKF_SIDE_TARGET, VKF_SIDE_COUNT } vkf__graph_side;

// A table's rows by ids, with what its gradient takes: see base/train/id_order.h.
typedef struct vkf__graph_ids {
    vkf__span ids, lists;
    uint32_t unique; // when planning the largest possible
} vkf__graph_ids;

// Where a batch lies on the device.
typedef struct vkf__graph_inputs {
    vkf__graph_ids tokens[VKF_SIDE_COUNT];
    vkf__graph_ids positions[VKF_SIDE_COUNT]; // rows of learned positions; `ids` is not used
    vkf__graph_ids types;
    vkf__graph_ids distances[VKF_SIDE_COUNT]; // buckets of vkf__relative_buckets(), by which biases of scores go
    uint32_t position_ids;    // element of the source's ids at which positions begin; 0: they count from 0
    vkf__span source_lengths; // (B)
    vkf__span labels;
} vkf__graph_inputs;

typedef struct vkf__graph_sizes {
    uint32_t batch;
    uint32_t len[VKF_SIDE_COUNT]; // 0: the model has no such side
} vkf__graph_sizes;

#define VKF_LAYER_NAME_MAX 24

// Set by the owner.
typedef struct vkf__model_graph {
    const vkf_model *model;
    const vkf__weights *gradients; // NULL: nobody asks for any
    vkf__graph_inputs inputs;
    vkf__span sinusoids, rotary, window_rotary; // constants of the model, as far as it has them
    vkf__loss_state loss;                       // labels are the inputs'
    float contrastive_scale;                    // 0: the loss is of labels
    vkf__layer_dropout dropout;                 // its stream is not used
    // Layers are recorded on this tape, and once more on the way back: of their activations nothing is kept. NULL: all
    // are.
    vkf__tape *again;
    vkf__span choices;                       // i32, (labels): the most probable label of each; absent: not asked for
    char (*layer_names)[VKF_LAYER_NAME_MAX]; // prefixes of labels, the encoder's first: "decoder.0."
} vkf__model_graph;

// How many streams of random numbers a model's dropout has: those of others follow.
uint32_t vkf__graph_streams(const vkf_model_config *config);
// How many labels a batch has, and how many logits each.
uint32_t vkf__graph_labels(const vkf__model_graph *graph, const vkf__graph_sizes *sizes);
uint32_t vkf__graph_classes(const vkf__model_graph *graph, const vkf__graph_sizes *sizes);

// Records the losses of all labels, (labels, 1). Statuses: those of the statements.
VKF_MUST_CHECK vkf_status vkf__record_model(vkf__tape *tape, const vkf__model_graph *graph,
                                            const vkf__graph_sizes *sizes, vkf__value *out_losses);
// Whether a model of this configuration can be recorded: UNSUPPORTED, with a message that names what has no gradient
// here; INVALID_ARGUMENT for a loss that the model does not have.
VKF_MUST_CHECK vkf_status vkf__graph_check(const vkf__host *host, const vkf_model_config *config,
                                           const vkf_trainer_desc *desc);

// For the files of the graph ----------------------------------------------------------------------------------------

// While a graph is recorded. Tables that are one tensor are one value.
typedef struct vkf__graph_recording {
    vkf__tape *tape;
    const vkf__model_graph *graph;
    const vkf__graph_sizes *sizes;
    struct {
        const vkf_buffer *buffer;
        uint64_t offset_bytes;
        vkf__value value;
    } tables[2 * VKF_SIDE_COUNT + 2];
    size_t table_count;
} vkf__graph_recording;

// A parameter, as a matrix with rows of its last dimension; 0 where the model does not have it. `gradient` is the
// tensor of the same place among the gradients, NULL without them.
VKF_MUST_CHECK vkf_status vkf__record_parameter(vkf__graph_recording *s, const vkf_tensor *tensor,
                                                const vkf_tensor *gradient, vkf__value *out_value);
// A linear layer, then an activation.
VKF_MUST_CHECK vkf_status vkf__record_dense(vkf__graph_recording *s, const char *label,
                                            const vkf__linear_weights *weights, const vkf__linear_weights *gradients,
                                            vkf_activation activation, vkf__value *inout_x);
VKF_MUST_CHECK vkf_status vkf__record_model_norm(vkf__graph_recording *s, const char *label,
                                                 const vkf_norm_weights *weights, const vkf_norm_weights *gradients,
                                                 vkf__value *inout_x);

// model_embedding.c: what the first layer of a side reads.
VKF_MUST_CHECK vkf_status vkf__record_side_embedding(vkf__graph_recording *s, vkf__graph_side side, vkf__value *out_x);
// The bias by distance that all layers of a side have; absent where there is none.
VKF_MUST_CHECK vkf_status vkf__record_side_bias(vkf__graph_recording *s, vkf__graph_side side,
                                                vkf__score_bias *out_bias);
// model_heads.c: logits of all labels, of the last layer's result.
VKF_MUST_CHECK vkf_status vkf__record_logits(vkf__graph_recording *s, vkf__value x, vkf__value *out_logits);

// The gradients' part that is like `member` of the weights; NULL where there are none.
#define VKF_GRADIENT_OF(s, member) ((s)->graph->gradients ? &(s)->graph->gradients->member : NULL)

#endif
