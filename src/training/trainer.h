// The vkf_trainer object: a model's parameters with their gradients and moments, and the recordings of a step.
//
// A step's way: the host writes a batch into `inputs`; the recording `pass` runs the model forwards and backwards, adds
// to gradients and to the loss; after the last batch `update` takes the gradients' norm, steps the parameters, and
// clears the gradients. The host reads one line of numbers.
#ifndef VKF_TRAINING_TRAINER_H
#define VKF_TRAINING_TRAINER_H

#include "kernel/recording.h"
#include "training/exchange.h"
#include "training/lora.h"
#include "training/model_graph.h"
#include "training/schedule.h"
#include "training/train_checkpoint.h"

// What runs leave for the host: the loss; the factor and the norm of gradients; and of each range of parameters the sum
// of its gradients' squares, and of the loss whether it is finite. They lie apart, so that no two dispatches write to
// what a device binds at once; between them are zeros.
typedef struct vkf__trainer_results {
    vkf__span loss, factor;
    vkf__span squares; // (range_count + 1) slots of `slot` floats
    uint32_t slot;
} vkf__trainer_results;

struct vkf_trainer {
    vkf_context *context;
    vkf_model *model;      // held
    vkf_trainer_desc desc; // complete: no 0 that stands for something else, no patterns
    vkf__parameters parameters;
    vkf__lora lora; // with desc.lora_rank
    vkf__model_graph graph;
    vkf__trainer_results results_at;
    vkf__tape tape, again; // the other one with desc.recompute
    vkf__train_state state;
    vkf__submission submission;
    vkf__work pass, evaluation, update;
    // What is submitted: the parts of the pass, behind them that of the update; and the parts of the evaluation.
    vkf__recording pass_and_update, evaluation_parts;
    size_t pass_parts;
    vkf_buffer *inputs, *constants, *results, *arena;
    uint64_t inputs_bytes, constants_bytes, results_bytes, arena_bytes;
    uint32_t *id_scratch; // (rows of the largest table) of vkf__id_order()
    // What is made for the device is made in memory that the host reads and writes fast, and then copied.
    int32_t *token_scratch;  // (most tokens of a side)
    int32_t *list_scratch;   // as long as the lists of so many
    vkf__exchange *exchange; // with the trainers that share the steps; NULL: there are none
};

// trainer.c ----------------------------------------------------------------------------------------------------------

// The descriptor was checked and completed. Statuses are those of vkf_trainer_create().
VKF_MUST_CHECK vkf_status vkf__trainer_create(vkf_model *model, const vkf_trainer_desc *desc,
                                              vkf_trainer **out_trainer);
VKF_MUST_CHECK vkf_status vkf__trainer_plan(vkf_model *model, const vkf_trainer_desc *desc, vkf_memory_plan *out_plan);
void vkf__trainer_free(vkf_trainer *trainer);
// Each of the trainers that share steps draws other numbers.
void vkf__trainer_seed(vkf_trainer *trainer);

// trainer_inputs.c ---------------------------------------------------------------------------------------------------

vkf__graph_sizes vkf__trainer_max_sizes(const vkf_trainer *trainer);
// Lays out inputs, constants and results: sizes, and spans with buffers where they exist already. Status TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__trainer_lay_out(vkf_trainer *trainer);
// Writes what never changes.
VKF_MUST_CHECK vkf_status vkf__trainer_write_constants(vkf_trainer *trainer);
// Checks a batch and writes it. `out_labels` counts those that are learned. Statuses: INVALID_ARGUMENT, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__trainer_check_batch(vkf_trainer *trainer, const char *function,
                                                   const vkf_train_batch *batch, uint64_t *out_labels);
void vkf__trainer_write_batch(vkf_trainer *trainer, const vkf_train_batch *batch, vkf__graph_sizes *out_sizes);

// trainer_emit.c -----------------------------------------------------------------------------------------------------

// What the recordings are emitted with.
typedef struct vkf__pass_args {
    vkf_trainer *trainer;
    vkf__graph_sizes sizes;
} vkf__pass_args;

// vkf__emit_fn of the recordings; `args` is a vkf__pass_args, and of the update a vkf_trainer.
VKF_MUST_CHECK vkf_status vkf__emit_pass(vkf__work *work, const void *args);
VKF_MUST_CHECK vkf_status vkf__emit_evaluation(vkf__work *work, const void *args);
VKF_MUST_CHECK vkf_status vkf__emit_update(vkf__work *work, const void *args);
// The learning rate of the next step.
double vkf__trainer_rate(const vkf_trainer *trainer);

// trainer_step.c -----------------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__trainer_step(vkf_trainer *trainer, const vkf_train_batch *batches, uint32_t count,
                                            vkf_train_result *out_result);
VKF_MUST_CHECK vkf_status vkf__trainer_evaluate(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                vkf_train_result *out_result);
VKF_MUST_CHECK vkf_status vkf__trainer_gradient(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                const vkf__parameter *parameter, float *out_gradient);

// Whether gradients are scaled, and what by in the first step.
bool vkf__trainer_scales(const vkf_trainer *trainer);
float vkf__trainer_first_scale(const vkf_trainer *trainer);

// trainer_save.c -----------------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__trainer_save(vkf_trainer *trainer, const char *directory);
VKF_MUST_CHECK vkf_status vkf__trainer_save_adapter(vkf_trainer *trainer, const char *directory);
VKF_MUST_CHECK vkf_status vkf__trainer_resume(vkf_trainer *trainer, const char *directory);

// trainer_probe.c ----------------------------------------------------------------------------------------------------

// Runs the pass whose batch is in `inputs` once more, dispatch by dispatch, up to the first result that is not finite,
// and says NOT_FINITE with its name.
vkf_status vkf__trainer_find_not_finite(vkf_trainer *trainer, const char *function);

#endif
