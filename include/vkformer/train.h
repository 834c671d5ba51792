// Training: a model's loss, its gradients, and steps of an optimiser, on the device that runs the model.
#ifndef VKFORMER_TRAIN_H
#define VKFORMER_TRAIN_H

#include <vkformer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vkf_optimizer {
    VKF_OPTIMIZER_ADAMW = 0, // torch.optim.AdamW: weights decay beside the gradient's step (Loshchilov and Hutter 2019)
    VKF_OPTIMIZER_ADAM,      // torch.optim.Adam: the decay is part of the gradient
    VKF_OPTIMIZER_SGD,       // torch.optim.SGD
    VKF_OPTIMIZER_COUNT
} vkf_optimizer;

// How the learning rate goes from step to step, as transformers.get_*_schedule_with_warmup: in the first warmup_steps
// it rises in a line from 0 to `rate`, and then follows the rule.
typedef enum vkf_rate_schedule {
    VKF_RATE_CONSTANT = 0,
    VKF_RATE_LINEAR, // to 0 at total_steps
    VKF_RATE_COSINE, // the same along half a wave
    // Vaswani et al. 2017, 5.3: rate * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)
    VKF_RATE_INVERSE_ROOT,
    VKF_RATE_COUNT
} vkf_rate_schedule;

// What a model is trained for.
typedef enum vkf_train_loss {
    VKF_TRAIN_LOSS_DEFAULT = 0, // as below for the model's kind: an ENCODER with a head LABELS, without CONTRASTIVE
    VKF_TRAIN_LOSS_LABELS,      // cross entropy of each label: SEQ2SEQ, DECODER, ENCODER with a head
    // Between texts and those that belong to them, among all of the batch: cross entropy of the cosines of their
    // embeddings, times contrastive_scale (MultipleNegativesRankingLoss of sentence-transformers). ENCODER without a
    // head.
    VKF_TRAIN_LOSS_CONTRASTIVE,
    VKF_TRAIN_LOSS_COUNT
} vkf_train_loss;

// Trainers that share the batches of each step and add up their gradients, so that all of them take the same step:
// usually one in a process, each with a device. They are made alike, of models with the same weights, and call
// vkf_trainer_step() as often, each with as many batches. A trainer that fails leaves the others waiting, so whoever
// runs them ends them all.
//
// The callbacks are called by vkf_trainer_step(), by all trainers in the same order. False says that the exchange has
// failed, which gives VKF_ERROR_CANCELLED. Results have to be the same bits everywhere.
typedef struct vkf_train_exchange {
    uint32_t index, count; // this trainer's number, of how many
    // Begins to add up `count` values of all trainers, element by element and in place, and returns at once. They stay
    // where they are until finish(); several may be under way. There are 2^28 at most.
    bool (*begin)(void *user, float *values, uint64_t count);
    // Optional. Is called again and again while the device works, to keep going what has begun.
    void (*progress)(void *user);
    // Waits for all that has begun.
    bool (*finish)(void *user);
    // Adds up a few numbers of all trainers.
    bool (*sum)(void *user, double *values, uint32_t count);
    void *user;
    // Gradients are added up when so many bytes of them are complete, on the way back through the layers; 0: 8 MiB
    uint64_t bucket_bytes;
    uint64_t reserved[4]; // 0; room for members of later versions
} vkf_train_exchange;

// All zero but sizes and rate: AdamW as PyTorch has it, of all parameters, without dropout.
typedef struct vkf_trainer_desc {
    uint32_t max_batch;                      // sequences of a batch
    uint32_t max_source_len, max_target_len; // their positions, of the sides that the model has
    vkf_train_loss loss;
    // The label that a position has which is not learned; 0: -100, as in PyTorch.
    int32_t ignored_label;
    float label_smoothing;   // 0 to 1
    float contrastive_scale; // 0: 20

    vkf_optimizer optimizer;
    double rate; // the highest; of INVERSE_ROOT its factor
    vkf_rate_schedule schedule;
    uint64_t warmup_steps, total_steps; // total_steps: of LINEAR and COSINE
    double beta1, beta2, eps;           // of ADAMW and ADAM; 0: 0.9, 0.999 and 1e-8
    double weight_decay;                // 0: none
    double momentum;                    // of SGD
    bool nesterov;                      // of SGD with a momentum
    float max_norm;                     // gradients are made shorter to this norm of all of them together; 0: never

    // The probability with which an element is left out (Srivastava et al. 2014): of each block's result and of the sum
    // of embeddings and positions, of attention's weights, and of what the feed-forward's activation gives.
    float dropout, attention_dropout, activation_dropout;
    uint64_t seed; // of all random numbers

    // The parameters that are trained, by their names in the model's file, in which * stands for any characters and ?
    // for one. NULL: all but final_logits_bias of BART and Marian, which is a buffer in transformers.
    const char *const *trained;
    uint32_t trained_count;

    // Activations within layers are computed again on the way back instead of being kept: less memory, and the time of
    // another way forward. docs/training.md has both measured.
    bool recompute;

    // LoRA (Hu et al. 2021): beside the weights W (out, in) of projections, which stay as they are, two small matrices
    // learn: y = x W^T + lora_alpha / lora_rank * dropout(x) A^T B^T, A (lora_rank, in), B (out, lora_rank). The other
    // parameters are frozen but for those that `trained` names. Sessions over the model do not see an adapter: save it,
    // and load the model with it (vkf_model_desc.adapter_directory).
    uint32_t lora_rank; // 0: none
    float lora_alpha;   // 0: 2 * lora_rank
    float lora_dropout; // of the projections' inputs, on their way to A
    uint32_t lora_target_count;
    // Last parts of modules' names, as "q_proj" or "output.dense"; NULL: what gives queries and values.
    const char *const *lora_targets;
    // Optional: the trainers that this one shares its steps with. The struct is copied.
    const vkf_train_exchange *exchange;

    // F16 or BF16: mixed precision (Micikevicius et al. 2018). Linear layers read their weights in this type and keep
    // their inputs in it for the way back; parameters, gradients, moments and everything else stay in f32. With F16 the
    // gradients are scaled on their way as torch.amp.GradScaler does it: from 2^16 on, halved by a step whose gradients
    // overflow and which is skipped, doubled after 2000 that were not. F32 (0): everything is in f32.
    vkf_dtype mixed_precision;
    uint32_t reserved[55]; // 0; room for members of later versions
} vkf_trainer_desc;

typedef struct vkf_trainer vkf_trainer;

// Makes what trains a model, which was loaded with vkf_model_desc.trainable. The steps change the model's own weights,
// which its sessions, generators and embedders then read. Ownership: the caller owns the trainer, which keeps its
// model; they may be destroyed in any order. One trainer per model at a time; no session may run during a step.
// Statuses: INVALID_ARGUMENT (also: a name in `trained` that no parameter has), UNSUPPORTED (the model has something
// that has no gradient here; the message names it), TOO_LARGE, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST,
// VULKAN, SHADER.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_create(vkf_model *model, const vkf_trainer_desc *desc,
                                                        vkf_trainer **out_trainer);
VKF_API void vkf_trainer_destroy(vkf_trainer **trainer);
// The bytes that vkf_trainer_create() will allocate: gradients and the optimiser's state, and activations. Statuses: as
// there.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_plan(vkf_model *model, const vkf_trainer_desc *desc,
                                                      vkf_memory_plan *out_plan);

// A batch. Arrays are on the host and used only during the call. Ids of padding may be any that the model has.
typedef struct vkf_train_batch {
    // B. Of CONTRASTIVE an even number: the first half, and in the same order what belongs to it. 0 where trainers
    // share a step and this one has no part in it.
    uint32_t batch;
    uint32_t source_len;            // S, SEQ2SEQ and ENCODER
    const int32_t *source_ids;      // (B, S)
    const uint32_t *source_lengths; // optional, (B): positions from there on are padding
    const int32_t *source_types;    // optional, (B, S), ENCODER with token_types
    uint32_t target_len;            // T, SEQ2SEQ and DECODER
    const int32_t *target_ids;      // (B, T): what the decoder reads, for SEQ2SEQ from bos_id on
    // What each position is to say next, or ignored_label: (B, T) SEQ2SEQ and DECODER; (B) an ENCODER for sequences,
    // (B, S) one for tokens. Of CONTRASTIVE NULL.
    const int32_t *labels;
} vkf_train_batch;

typedef struct vkf_train_result {
    double loss;          // mean of the labels that count
    uint64_t labels;      // how many these are
    uint64_t right;       // of vkf_trainer_evaluate(): for how many of them the most probable one is the label
    double gradient_norm; // before it is made shorter
    double rate;          // learning rate of the step
    uint64_t step;        // its number, from 1
    bool skipped;         // gradients were not finite, and nothing has changed
    float loss_scale;     // what the step's gradients were scaled by; 1 but with mixed_precision F16
} vkf_train_result;

// A step over batches whose gradients are added: the loss is the mean of the labels of all of them, whatever their
// sizes. The same seed, device and batches give the same bits. Where the loss is not finite, nothing is changed. Where
// gradients are not, the parameters keep their values, and the result says so; the caller decides how many such steps
// are too many. Trainers that share a step have the loss and the labels of all as their result, and each takes other
// random numbers; of CONTRASTIVE a batch is compared within itself. Statuses: INVALID_ARGUMENT (an id, a label or a
// length out of range: the message says where; no label counts; trainers that share a step differ in their weights),
// TOO_LARGE (beyond the trainer's sizes), NOT_FINITE (a loss; the message names the step and the first tensor that is
// not finite), OUT_OF_HOST_MEMORY, CANCELLED (the exchange between trainers failed), DEVICE_LOST, VULKAN.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_step(vkf_trainer *trainer, const vkf_train_batch *batches,
                                                      uint32_t batch_count, vkf_train_result *out_result);
// The loss of a batch as it is, without dropout and without a change. Statuses: as above.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_evaluate(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                          vkf_train_result *out_result);
// The parameters that are trained, in the model's order; false beyond the last. One tensor of a file that holds
// several, as of queries, keys and values, is several here, of one name, which lives as long as the trainer.
typedef struct vkf_train_parameter {
    const char *name;
    uint64_t count;   // elements
    vkf_tensor value; // on the device, f32, in a buffer of the model's or of the adapter's; to be changed between steps
} vkf_train_parameter;
VKF_INLINE bool vkf_trainer_get_parameter(const vkf_trainer *trainer, uint32_t index,
                                          vkf_train_parameter *out_parameter);

typedef struct vkf_trainer_info {
    uint64_t parameter_count; // elements of all parameters, an adapter's among them
    uint64_t trained_count;   // and of those that are trained
    uint64_t weights_bytes;   // of the model's weights on the device, which vkf_trainer_plan() leaves out
} vkf_trainer_info;
VKF_INLINE void vkf_trainer_get_info(const vkf_trainer *trainer, vkf_trainer_info *out_info);

// The gradient of a batch with respect to the parameter `index`, as a step takes it: `out_gradient` has as many
// elements as the parameter. For checks: it runs forwards and backwards, and changes nothing. Statuses: as above;
// INVALID_ARGUMENT for an index beyond the last.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_compute_gradient(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                                  uint32_t index, float *out_gradient);

// Writes a checkpoint: the directory with the model's weights under the names that it was loaded with, its
// configuration, and what the optimiser knows. A model that came from a directory is written with its tokenizer and the
// files beside it, so that the checkpoint can be loaded as a model. With lora_rank the checkpoint is the adapter, as
// vkf_trainer_save_adapter() writes it, and what the optimiser knows, without the model. It is made under another name
// and then renamed: a checkpoint is whole or not there, whenever a process ends. There is nothing of that name yet, or
// an empty directory. Statuses: UNSUPPORTED (as vkf_trainer_save_adapter()), FILE, OUT_OF_HOST_MEMORY, DEVICE_LOST,
// VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_save(vkf_trainer *trainer, const char *directory);
// Writes what lora_rank has trained as PEFT saves it, adapter_config.json and adapter_model.safetensors, for PEFT and
// for vkf_model_desc.adapter_directory. base_model_name_or_path is the absolute path of the model's directory.
// Parameters that `trained` names are in it, too, as modules_to_save. The directory is whole or not there. Statuses:
// INVALID_ARGUMENT (the trainer has no adapter), UNSUPPORTED (a tensor of `trained` that the model's file has fused or
// transposed; the message names it), FILE, OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_save_adapter(vkf_trainer *trainer, const char *directory);
// Goes on where vkf_trainer_save() was, bit by bit. The model, the parameters that are trained and the optimiser have
// to be those of the checkpoint; an adapter's wants the weights that it was trained beside. All of it is read and
// checked first: what is refused changes nothing. Only a device or a file that fails behind that leaves a part of the
// checkpoint. Statuses: FILE, FORMAT (a checkpoint of another model, or a broken one; the message says in what),
// INVALID_ARGUMENT (of another optimiser or loss), OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_restore(vkf_trainer *trainer, const char *directory);
// Steps so far.
VKF_API uint64_t vkf_trainer_get_steps(const vkf_trainer *trainer);

// A checkpoint has this file, which nothing else has.
#define VKF_CHECKPOINT_FILE "training.safetensors"

// What a training has come to, as its checkpoints keep it.
typedef struct vkf_train_progress {
    uint64_t steps;     // as vkf_trainer_get_steps()
    uint64_t skipped;   // steps whose gradients were not finite, which `steps` does not count
    uint64_t batches;   // of both
    uint64_t best_step; // as vkf_trainer_set_best() was told; 0: it was not
    double best_loss;
} vkf_train_progress;
VKF_INLINE void vkf_trainer_get_progress(const vkf_trainer *trainer, vkf_train_progress *out_progress);
// Keeps which step gave the best model so far, and its loss of held-out examples. The caller looks at these and judges;
// the trainer only says it in its checkpoints, and vkf_trainer_restore() takes it from one.
VKF_API void vkf_trainer_set_best(vkf_trainer *trainer, uint64_t step, double loss);
// The progress of a checkpoint, without its model or a trainer. Statuses: INVALID_ARGUMENT, FILE, FORMAT (the directory
// is no checkpoint, or a broken one), OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_train_progress_read(vkf_context *context, const char *directory,
                                                             vkf_train_progress *out_progress);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/train.h>

#endif
