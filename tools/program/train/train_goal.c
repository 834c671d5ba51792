// Chooses what a run learns.
#include "train/train_goal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/json_file.h"
#include "io/path.h"
#include "train/train_values.h"

// What is known of the model without loading it.
typedef struct model_facts {
    const vkf__host *host;
    const char *directory;
    vkf_inspection *inspection;
    vkf_inspection_info info;
    vkf_model_config config; // its head is the one that the file has
    bool embeds;             // a modules.json says so, and there is no head
} model_facts;

vkf_status vkf_train_inspect(const vkf__host *host, const char *directory, vkf_inspection **out_inspection)
{
    const vkf_inspection_desc desc = {
        .directory = directory,
        .message = host->message,
        .message_user = host->message_user,
        .min_severity = VKF_SEVERITY_ERROR,
        .allocator = host->allocator,
    };
    return vkf_inspection_load(&desc, out_inspection);
}

// The inspection is to be destroyed whether this succeeds or not.
static vkf_status read_facts(const vkf__host *host, const char *directory, model_facts *out_facts)
{
    *out_facts = (model_facts){.host = host, .directory = directory};
    VKF_RETURN_IF_ERROR(vkf_train_inspect(host, directory, &out_facts->inspection));
    vkf_inspection_get_info(out_facts->inspection, &out_facts->info);
    vkf_inspection_get_config(out_facts->inspection, &out_facts->config);
    out_facts->embeds = out_facts->info.embeds && out_facts->config.head == VKF_HEAD_NONE;
    return out_facts->info.supported;
}

// ---- what a model can learn

static bool has_head(const model_facts *f, vkf_head kind)
{
    const vkf_head head = f->config.head;
    const bool drawn =
        (head == VKF_HEAD_NONE || head == VKF_HEAD_MASKED_LM) && vkf_head_class(f->info.model_type, kind);
    return f->config.kind == VKF_MODEL_ENCODER && (head == kind || drawn);
}

static bool learns(const model_facts *f, vkf_train_task task)
{
    switch (task) {
    case VKF_TASK_TRANSLATE:
        return f->config.kind == VKF_MODEL_SEQ2SEQ;
    case VKF_TASK_CONTINUE:
    case VKF_TASK_COMPLETE:
        return f->config.kind == VKF_MODEL_DECODER;
    case VKF_TASK_CLASSIFY:
        return has_head(f, VKF_HEAD_SEQUENCE_CLASSIFICATION);
    case VKF_TASK_TAG:
        return has_head(f, VKF_HEAD_TOKEN_CLASSIFICATION);
    case VKF_TASK_FILL:
        return f->config.kind == VKF_MODEL_ENCODER && f->config.head == VKF_HEAD_MASKED_LM;
    default:
        return f->config.kind == VKF_MODEL_ENCODER && f->config.head == VKF_HEAD_NONE;
    }
}

static const char *name_of(vkf_train_task task)
{
    return vkf_train_choice(VKF_TRAIN_KIND_TASK, (uint32_t)task + 1);
}

static vkf_status fail_task(const model_facts *f, vkf_train_task task)
{
    char list[160] = "";
    size_t length = 0;
    for (vkf_train_task other = 0; other < VKF_TASK_COUNT; other++)
        if (learns(f, other))
            length += (size_t)snprintf(list + length, sizeof list - length, "%s\"%s\"", length > 0 ? ", " : "",
                                       name_of(other));
    return vkf__fail(f->host, VKF_ERROR_INVALID_ARGUMENT,
                     "'task' (--task) is \"%s\", which %s does not learn: it takes %s", name_of(task), f->directory,
                     list);
}

static vkf_status check_model(const model_facts *f)
{
    const vkf_model_config *config = &f->config;
    const char *problem = NULL;
    if (config->kind == VKF_MODEL_TRANSFORMER)
        problem = "reads sequences that are no text, which no line says";
    else if (config->head == VKF_HEAD_QUESTION_ANSWERING)
        problem = "has a head that finds answers in texts, which is not trained here";
    else if (config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION && (config->head_regression || config->head_multi_label))
        problem = "has a head that gives values or several classes at once, and what is trained here is one class of "
                  "several";
    else if (config->lower_case)
        problem =
            "puts texts into lower case beside its tokenizer: make the data so, and take do_lower_case out of its "
            "sentence_bert_config.json";
    return problem ? vkf__fail(f->host, VKF_ERROR_UNSUPPORTED, "%s: the model %s", f->directory, problem) : VKF_OK;
}

// ---- what the data are for

static vkf_status task_of_decoder(const model_facts *f, const vkf_train_config *config, const vkf_train_look *look,
                                  vkf_train_task *out_task)
{
    *out_task = look->prompt || look->columns ? VKF_TASK_COMPLETE : VKF_TASK_CONTINUE;
    if (look->label || look->tags)
        return vkf__fail(f->host, VKF_ERROR_FORMAT,
                         "%s has labels, and %s has no head that could learn them: 'task' (--task) \"continue\" learns "
                         "from the texts alone",
                         config->train.items[0], f->directory);
    if (look->messages && !look->prompt)
        return vkf__fail(f->host, VKF_ERROR_FORMAT,
                         "%s has messages, which no chat template is rendered for here: write them as \"prompt\" and "
                         "\"completion\"",
                         config->train.items[0]);
    return VKF_OK;
}

// Words that come again stand for classes, and who trains an embedding on them believes otherwise.
static vkf_status check_partners(const model_facts *f, const vkf_train_config *config)
{
    vkf__host silent = *f->host;
    vkf_train_classes classes;
    bool texts = false;
    silent.message = NULL;
    const vkf_status status = vkf_train_classes_read(&silent, config, VKF_EXAMPLE_CLASS, &classes);
    for (uint32_t i = 0; i < classes.count; i++)
        texts = texts || strchr(classes.names[i], ' ');
    const uint32_t count = classes.count, examples = classes.examples;
    vkf_train_classes_free(f->host, &classes);
    if (status != VKF_OK || texts || count == examples)
        return VKF_OK;
    return vkf__fail(f->host, VKF_ERROR_FORMAT,
                     "%s: %u words behind the tabs of %u lines look like classes, and %s learns which texts belong "
                     "together: say 'task' (--task) \"classify\", which gives it a new head, or \"embed\"",
                     config->train.items[0], count, examples, f->directory);
}

static vkf_status task_of_encoder(const model_facts *f, const vkf_train_config *config, const vkf_train_look *look,
                                  vkf_train_task *out_task)
{
    const vkf_head head = f->config.head != VKF_HEAD_NONE ? f->config.head : f->info.asked_head;
    const bool masks = f->config.head == VKF_HEAD_MASKED_LM;
    if (head == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        *out_task = VKF_TASK_CLASSIFY;
    else if (head == VKF_HEAD_TOKEN_CLASSIFICATION || (!f->embeds && (look->tags || look->words)))
        *out_task = VKF_TASK_TAG;
    else if (f->embeds || (look->pair && !masks))
        *out_task = VKF_TASK_EMBED;
    else if (look->label || look->columns)
        *out_task = VKF_TASK_CLASSIFY;
    else if (masks)
        *out_task = VKF_TASK_FILL;
    else
        return vkf__fail(
            f->host, VKF_ERROR_FORMAT,
            "%s: texts alone teach nothing to %s, which has no head for masked words: give lines TEXT <tab> "
            "LABEL, or WORD WORD <tab> LABEL LABEL",
            config->train.items[0], f->directory);
    return *out_task == VKF_TASK_EMBED && look->columns ? check_partners(f, config) : VKF_OK;
}

static vkf_status find_task(const model_facts *f, const vkf_train_config *config, vkf_train_task *out_task)
{
    vkf_train_look look;
    if (config->task != VKF_TRAIN_TASK_AUTO) {
        *out_task = (vkf_train_task)(config->task - 1);
        return learns(f, *out_task) ? VKF_OK : fail_task(f, *out_task);
    }
    *out_task = VKF_TASK_TRANSLATE;
    if (learns(f, *out_task))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf_train_look_at(f->host, config, &look));
    VKF_RETURN_IF_ERROR(f->config.kind == VKF_MODEL_DECODER ? task_of_decoder(f, config, &look, out_task)
                                                            : task_of_encoder(f, config, &look, out_task));
    return learns(f, *out_task) ? VKF_OK : fail_task(f, *out_task);
}

// ---- classes of a head that is drawn

static bool is_label(const model_facts *f, const char *name)
{
    char number[16];
    const char *label;
    for (uint32_t i = 0; (label = vkf_inspection_get_label(f->inspection, i)); i++) {
        (void)snprintf(number, sizeof number, "%u", i);
        if (strcmp(label, name) == 0 || strcmp(number, name) == 0)
            return true;
    }
    return false;
}

static vkf_status fail_label(const model_facts *f, const char *label, uint32_t count)
{
    return vkf__fail(f->host, VKF_ERROR_FORMAT,
                     "the data have the label '%.100s', which is none of the %u classes in %s/config.json: correct its "
                     "id2label, or leave it out, so that the classes are the data's",
                     label, count, f->directory);
}

// Where config.json asks for classes, and has them, the data's have to be among them.
static vkf_status keep_labels(const model_facts *f, vkf_train_goal *goal)
{
    uint32_t count = 0, known = 0;
    VKF_RETURN_IF_ERROR(vkf_inspection_load_labels(f->inspection, &count));
    while (known < goal->classes.count && is_label(f, goal->classes.names[known]))
        known++;
    const vkf_status status = known < goal->classes.count ? fail_label(f, goal->classes.names[known], count) : VKF_OK;
    vkf_train_classes_free(f->host, &goal->classes);
    return status;
}

static vkf_status has_labels(const model_facts *f, bool *out_there)
{
    char *path = NULL;
    json_t *root = NULL;
    VKF_RETURN_IF_ERROR(vkf__path_join(f->host, f->info.transformer_directory, "config.json", &path));
    const vkf_status status = vkf__json_load(f->host, path, &root);
    vkf__free(f->host, path);
    *out_there = json_object_size(json_object_get(root, "id2label")) > 0;
    json_decref(root);
    return status;
}

static vkf_status settle_labels(const model_facts *f, vkf_train_goal *goal)
{
    bool there = false;
    if (f->info.asked_head != goal->drawn)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(has_labels(f, &there));
    return there ? keep_labels(f, goal) : VKF_OK;
}

static vkf_status find_head(const model_facts *f, const vkf_train_config *config, vkf_train_goal *goal)
{
    const bool tags = goal->task == VKF_TASK_TAG;
    const vkf_head head = tags ? VKF_HEAD_TOKEN_CLASSIFICATION : VKF_HEAD_SEQUENCE_CLASSIFICATION;
    if ((!tags && goal->task != VKF_TASK_CLASSIFY) || f->config.head == head)
        return VKF_OK;
    if (f->info.adapter_directory)
        return vkf__fail(f->host, VKF_ERROR_UNSUPPORTED,
                         "%s: an adapter is added to the model, which gets a new head: write the merged model first, "
                         "with vkformer quantize --type same",
                         f->directory);
    goal->drawn = head;
    VKF_STRDUP_OR_RETURN(f->host, goal->transformer, f->info.transformer_directory);
    VKF_RETURN_IF_ERROR(
        vkf_train_classes_read(f->host, config, tags ? VKF_EXAMPLE_TAGS : VKF_EXAMPLE_CLASS, &goal->classes));
    return settle_labels(f, goal);
}

// ---- settings that follow

#define USUAL_WIDTH 768.0 // of BERT and GPT-2, of which the rates are
#define HIGHEST_RATE 2e-3

// As transformers' Trainer has it, and for completions and adapters TRL; of a new model that of GPT-2. Narrower models
// take a higher one, in proportion (Yang et al. 2022, "Tensor Programs V"); BERT's miniatures of width 128 are tuned at
// 3e-4.
static double usual_rate(const vkf_train_config *config, vkf_train_task task)
{
    if (!config->model)
        return 6e-4;
    if (config->parameters == VKF_TRAIN_LORA)
        return 2e-4;
    return task == VKF_TASK_COMPLETE ? 2e-5 : 5e-5;
}

static double rate_of(const model_facts *f, const vkf_train_config *config, vkf_train_task task)
{
    if (config->origins[VKF_TRAIN_LR] != VKF_TRAIN_DEFAULT)
        return config->lr;
    if (config->optimizer == VKF_TRAIN_SGD || config->parameters == VKF_TRAIN_HEAD)
        return 1e-3;
    return fmin(usual_rate(config, task) * fmax(1, USUAL_WIDTH / f->config.d_model), HIGHEST_RATE);
}

// So few that a small file makes many steps, unless the batches' tokens are given. An embedding is told from the others
// of its batch, so that it needs some.
static uint32_t rows_of(const vkf_train_config *config, vkf_train_task task)
{
    if (config->batch_rows > 0 || config->origins[VKF_TRAIN_BATCH_TOKENS] != VKF_TRAIN_DEFAULT)
        return config->batch_rows;
    return config->model && task != VKF_TASK_EMBED ? 8 : 16;
}

static vkf_status settle(const model_facts *f, const vkf_train_config *config, vkf_train_goal *goal)
{
    const vkf_train_task task = goal->task;
    const bool decodes = task == VKF_TASK_CONTINUE || task == VKF_TASK_COMPLETE;
    const bool by_token = decodes || task == VKF_TASK_FILL || task == VKF_TASK_TAG;
    goal->lr = rate_of(f, config, task);
    goal->batch_rows = rows_of(config, task);
    goal->long_texts = config->long_texts;
    if (goal->long_texts == VKF_TRAIN_LONG_AUTO)
        goal->long_texts = config->pack || task == VKF_TASK_CONTINUE || task == VKF_TASK_FILL ? VKF_TRAIN_LONG_BLOCK
                                                                                              : VKF_TRAIN_LONG_CUT;
    const char *problem = NULL;
    if (config->origins[VKF_TRAIN_LOSS_ON] != VKF_TRAIN_DEFAULT && task != VKF_TASK_COMPLETE)
        problem = "'loss_on' (--loss-on) is for prompts and completions";
    else if (config->origins[VKF_TRAIN_CONTRASTIVE_SCALE] != VKF_TRAIN_DEFAULT && task != VKF_TASK_EMBED)
        problem = "'contrastive_scale' (--contrastive-scale) is for pairs that belong together";
    else if (config->pack && (!decodes || goal->long_texts != VKF_TRAIN_LONG_BLOCK))
        problem = "'data.pack' (--pack) makes blocks of a decoder's texts";
    else if (goal->long_texts == VKF_TRAIN_LONG_BLOCK && !by_token)
        problem = "'data.long' (--long) \"block\" is for texts each of whose tokens is learned";
    return problem
               ? vkf__fail(f->host, VKF_ERROR_INVALID_ARGUMENT, "%s, and this run learns to %s", problem, name_of(task))
               : VKF_OK;
}

static vkf_status find_goal(const vkf__host *host, const vkf_train_config *config, const char *directory,
                            model_facts *facts, vkf_train_goal *goal)
{
    VKF_RETURN_IF_ERROR(read_facts(host, directory, facts));
    VKF_RETURN_IF_ERROR(check_model(facts));
    VKF_RETURN_IF_ERROR(find_task(facts, config, &goal->task));
    VKF_RETURN_IF_ERROR(settle(facts, config, goal));
    return find_head(facts, config, goal);
}

vkf_status vkf_train_goal_find(const vkf__host *host, const vkf_train_config *config, const char *directory,
                               vkf_train_goal *out_goal)
{
    model_facts facts;
    *out_goal = (vkf_train_goal){0};
    const vkf_status status = find_goal(host, config, directory, &facts, out_goal);
    vkf_inspection_destroy(&facts.inspection);
    return status;
}

void vkf_train_goal_free(const vkf__host *host, vkf_train_goal *goal)
{
    vkf_train_classes_free(host, &goal->classes);
    vkf__free(host, goal->transformer);
    goal->transformer = NULL;
}
