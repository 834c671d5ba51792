// Opens what a training run works with.
#include "base/name_match.h"
#include "command/model_path.h"
#include "io/file.h"
#include "io/path.h"
#include "train/new_model.h"
#include "train/train_ranks.h"
#include "train/train_run.h"

// The parameters of heads, as the families name them. BERT's pooler is its base model's, but one that was just drawn.
static const char *const head_patterns[] = {"classifier*", "pre_classifier*", "score*",           "lm_head*",
                                            "qa_outputs*", "generator*",      "cls.predictions*", "vocab_*",
                                            "head.*",      "decoder.bias",    "*pooler.dense*"};

#define HEAD_PATTERNS (sizeof head_patterns / sizeof head_patterns[0])

// ---- the model

// Where training begins, unless that is the user's model: in the run's directory, which a check of gradients leaves
// alone.
static vkf_status find_place(vkf_train_run *run)
{
    vkf__free(run->host, run->start);
    run->start = NULL;
    if (!run->options->check_gradients)
        return vkf_train_path(run, VKF_TRAIN_START, &run->start);
    VKF_RETURN_IF_ERROR(vkf_train_take_scratch(run));
    return vkf__path_join(run->host, run->scratch, VKF_TRAIN_START, &run->start);
}

// Writes the directory that training begins with, of a new model or one with a new head, unless a run goes on that has:
// it is whole where it is there.
static vkf_status make_start(vkf_train_run *run)
{
    vkf_status status = VKF_OK;
    VKF_RETURN_IF_ERROR(find_place(run));
    if (vkf_train_leads(run) && !vkf__file_exists(run->start))
        status = run->goal.drawn != VKF_HEAD_NONE ? vkf_new_head_write(run->host, run->config, &run->goal, run->start)
                                                  : vkf_new_model_write(run->host, run->config, run->start);
    VKF_RETURN_IF_ERROR(status);
    vkf_ranks_meet();
    return VKF_OK;
}

static vkf_status find_start(vkf_train_run *run)
{
    const char *directory = run->config->model;
    if (!directory)
        return make_start(run);
    if (!vkf_find_model(&directory))
        return VKF_ERROR_FILE;
    VKF_STRDUP_OR_RETURN(run->host, run->start, directory);
    return VKF_OK;
}

// Gives the model a head where it has none for what is to be learned.
static vkf_status find_goal(vkf_train_run *run)
{
    VKF_RETURN_IF_ERROR(vkf_train_goal_find(run->host, run->config, run->start, &run->goal));
    return run->goal.drawn == VKF_HEAD_NONE ? VKF_OK : make_start(run);
}

static vkf_status load_model(vkf_train_run *run)
{
    VKF_RETURN_IF_ERROR(find_start(run));
    VKF_RETURN_IF_ERROR(find_goal(run));
    const vkf_model_desc desc = {.directory = run->start, .trainable = true};
    VKF_RETURN_IF_ERROR(vkf_model_load(run->context, &desc, &run->model));
    vkf_model_get_config(run->model, &run->model_config);
    return vkf_train_inspect(run->host, run->start, &run->inspection);
}

// ---- the trainer

static bool has_tensor(const vkf_inspection *inspection, const char *pattern)
{
    const char *name;
    for (uint32_t i = 0; (name = vkf_inspection_get_tensor(inspection, i)); i++)
        if (vkf__name_matches(pattern, name))
            return true;
    return false;
}

// Those of the patterns that some parameter has.
static uint32_t find_head(const vkf_train_run *run, const char **out_patterns)
{
    const bool drawn = run->goal.drawn != VKF_HEAD_NONE && run->config->parameters == VKF_TRAIN_HEAD;
    uint32_t count = 0;
    for (size_t p = 0; p < HEAD_PATTERNS - !drawn; p++)
        if (has_tensor(run->inspection, head_patterns[p]))
            out_patterns[count++] = head_patterns[p];
    return count;
}

// That of one place is that of all unless it was given.
static float dropout_of(const vkf_train_run *run, vkf_train_key key, double own)
{
    const vkf_train_config *c = run->config;
    if (run->options->check_gradients)
        return 0;
    return (float)(c->origins[key] != VKF_TRAIN_DEFAULT ? own : c->dropout);
}

static vkf_trainer_desc trainer_of(const vkf_train_run *run, const vkf_batch_sizes *sizes)
{
    static const vkf_optimizer optimizers[] = {VKF_OPTIMIZER_ADAMW, VKF_OPTIMIZER_ADAM, VKF_OPTIMIZER_SGD};
    static const vkf_rate_schedule schedules[] = {VKF_RATE_CONSTANT, VKF_RATE_LINEAR, VKF_RATE_COSINE,
                                                  VKF_RATE_INVERSE_ROOT};
    static const vkf_dtype products[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};
    const vkf_train_config *c = run->config;
    return (vkf_trainer_desc){
        .max_batch = sizes->rows,
        .max_source_len = sizes->source_len,
        .max_target_len = sizes->target_len,
        .loss = run->goal.task == VKF_TASK_EMBED ? VKF_TRAIN_LOSS_CONTRASTIVE : VKF_TRAIN_LOSS_LABELS,
        // What is looked at has none of it, and a check of gradients looks.
        .label_smoothing = run->options->check_gradients ? 0 : (float)c->label_smoothing,
        .contrastive_scale = (float)c->contrastive_scale,
        .optimizer = optimizers[c->optimizer],
        .rate = run->goal.lr,
        .schedule = schedules[c->schedule],
        .warmup_steps = c->warmup,
        .total_steps = run->total_steps,
        .beta1 = c->betas[0],
        .beta2 = c->betas[1],
        .eps = c->eps,
        .weight_decay = c->weight_decay,
        .momentum = c->momentum,
        .nesterov = c->nesterov,
        .max_norm = (float)c->clip_norm,
        .dropout = dropout_of(run, VKF_TRAIN_DROPOUT, c->dropout),
        .attention_dropout = dropout_of(run, VKF_TRAIN_ATTENTION_DROPOUT, c->attention_dropout),
        .activation_dropout = dropout_of(run, VKF_TRAIN_ACTIVATION_DROPOUT, c->activation_dropout),
        .seed = c->seed,
        .recompute = c->gradient_checkpointing,
        // Differences of the loss are too small for 16 bits.
        .mixed_precision = run->options->check_gradients ? VKF_DTYPE_F32 : products[c->dtype],
    };
}

// A classifier learns its classes beside the adapter, as in PEFT.
static void add_adapter(const vkf_train_run *run, const char **head, vkf_trainer_desc *desc)
{
    const vkf_train_config *c = run->config;
    const vkf_head kind = run->model_config.head;
    desc->lora_rank = c->lora_rank;
    desc->lora_alpha = (float)c->lora_alpha;
    desc->lora_dropout = run->options->check_gradients ? 0 : (float)c->lora_dropout;
    desc->lora_targets = c->lora_targets.count > 0 ? (const char *const *)c->lora_targets.items : NULL;
    desc->lora_target_count = (uint32_t)c->lora_targets.count;
    if (kind == VKF_HEAD_SEQUENCE_CLASSIFICATION || kind == VKF_HEAD_TOKEN_CLASSIFICATION)
        desc->trained_count = find_head(run, head);
    desc->trained = desc->trained_count > 0 ? head : NULL;
}

static vkf_status make_trainer(vkf_train_run *run)
{
    const vkf_batch_sizes *train = &run->train.sizes, *heldout = &run->heldout.sizes;
    const vkf_batch_sizes most = {
        .rows = train->rows > heldout->rows ? train->rows : heldout->rows,
        .source_len = train->source_len > heldout->source_len ? train->source_len : heldout->source_len,
        .target_len = train->target_len > heldout->target_len ? train->target_len : heldout->target_len,
    };
    const char *head[HEAD_PATTERNS];
    vkf_trainer_desc desc = trainer_of(run, &most);
    const vkf_train_exchange exchange = vkf_train_ranks_exchange(&run->options->ranks);
    desc.exchange = exchange.count > 1 ? &exchange : NULL;
    if (run->config->parameters == VKF_TRAIN_HEAD) {
        desc.trained = head;
        desc.trained_count = find_head(run, head);
        if (desc.trained_count == 0)
            return vkf__fail(run->host, VKF_ERROR_INVALID_ARGUMENT,
                             "%s: the model has no parameters of its head alone; train all of them", run->start);
    }
    if (run->config->parameters == VKF_TRAIN_LORA)
        add_adapter(run, head, &desc);
    VKF_RETURN_IF_ERROR(vkf_trainer_plan(run->model, &desc, &run->memory));
    return vkf_trainer_create(run->model, &desc, &run->trainer);
}

// ---- the run

// How many steps there are in all.
static uint64_t steps_of(const vkf_train_run *run)
{
    const vkf_train_config *c = run->config;
    const uint64_t batches = (uint64_t)c->epochs * vkf_batches_per_epoch(run->train.batches);
    const uint64_t steps = (batches + c->accumulation - 1) / c->accumulation;
    return c->epochs == 0 || (c->steps > 0 && c->steps < steps) ? c->steps : steps;
}

static vkf_status open_examples(vkf_train_run *run)
{
    const vkf_train_config *config = run->config;
    VKF_RETURN_IF_ERROR(
        vkf_train_words_load(run->host, run->start, run->inspection, &run->model_config, run->goal.task, &run->words));
    VKF_RETURN_IF_ERROR(vkf_train_data_open(&run->words, config, &run->goal, &config->train, config->accumulation,
                                            &run->options->ranks, &run->train));
    if (config->heldout.count > 0)
        VKF_RETURN_IF_ERROR(
            vkf_train_data_open(&run->words, config, &run->goal, &config->heldout, 1, NULL, &run->heldout));
    run->total_steps = steps_of(run);
    return VKF_OK;
}

static vkf_status open_all(vkf_train_run *run)
{
    if (vkf_train_leads(run) && !run->options->check_gradients)
        VKF_RETURN_IF_ERROR(vkf_train_take_directory(run));
    VKF_RETURN_IF_ERROR(vkf_open_context_aloud(&run->options->common, &run->context));
    VKF_RETURN_IF_ERROR(load_model(run));
    VKF_RETURN_IF_ERROR(open_examples(run));
    VKF_RETURN_IF_ERROR(make_trainer(run));
    if (vkf_train_leads(run) && !run->options->check_gradients)
        vkf_train_say(run);
    return VKF_OK;
}

bool vkf_train_open(const vkf_train_options *options, vkf_train_run *out_run)
{
    *out_run = (vkf_train_run){.options = options, .config = &options->config, .host = &options->host, .lock = -1};
    const vkf_status status = open_all(out_run);
    if (status != VKF_OK)
        vkf_print_error("the training cannot begin: %s", vkf_status_text(status));
    return status == VKF_OK;
}

void vkf_train_close(vkf_train_run *run)
{
    vkf_train_log_close(&run->log);
    vkf_trainer_destroy(&run->trainer);
    vkf_train_data_free(&run->heldout);
    vkf_train_data_free(&run->train);
    vkf_train_words_free(&run->words);
    vkf_inspection_destroy(&run->inspection);
    vkf_train_goal_free(run->host, &run->goal);
    vkf_model_destroy(&run->model);
    vkf_context_destroy(&run->context);
    vkf__free(run->host, run->start);
    vkf_train_leave_directory(run);
    *run = (vkf_train_run){0};
}
