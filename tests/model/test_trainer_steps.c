// What steps of a trainer do: as torch.optim's formulas, always with the same bits, and nothing where something is
// wrong.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/name_match.h"
#include "support/compare.h"
#include "support/pretrained.h"
#include "support/trained.h"

#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"
#define STEPS 4

static const char *const one_norm[] = {"model.norm.weight"};

// ---- formulas

typedef struct formula {
    const char *name;
    vkf_trainer_desc desc;
} formula;

// What a reference knows of one parameter, in double.
typedef struct reference {
    double *value, *m, *v;
    size_t count;
} reference;

static void step_adam(reference *r, const vkf_trainer_desc *desc, const double *gradient, double rate, int step)
{
    const double beta1 = desc->beta1 > 0 ? desc->beta1 : 0.9, beta2 = desc->beta2 > 0 ? desc->beta2 : 0.999;
    for (size_t i = 0; i < r->count; i++) {
        const bool decoupled = desc->optimizer == VKF_OPTIMIZER_ADAMW;
        const double g = gradient[i] + (decoupled ? 0 : desc->weight_decay * r->value[i]);
        if (decoupled)
            r->value[i] -= rate * desc->weight_decay * r->value[i];
        r->m[i] = beta1 * r->m[i] + (1 - beta1) * g;
        r->v[i] = beta2 * r->v[i] + (1 - beta2) * g * g;
        const double first = r->m[i] / (1 - pow(beta1, step)), second = r->v[i] / (1 - pow(beta2, step));
        r->value[i] -= rate * first / (sqrt(second) + 1e-8);
    }
}

static void step_sgd(reference *r, const vkf_trainer_desc *desc, const double *gradient, double rate)
{
    for (size_t i = 0; i < r->count; i++) {
        const double g = gradient[i] + desc->weight_decay * r->value[i];
        r->m[i] = desc->momentum * r->m[i] + g;
        r->value[i] -= rate * (desc->nesterov ? g + desc->momentum * r->m[i] : r->m[i]);
    }
}

static double rate_of(const vkf_trainer_desc *desc, uint32_t d_model, int step)
{
    const double done = step - 1, warmup = (double)desc->warmup_steps, total = (double)desc->total_steps;
    const double left = (done - warmup) / (total - warmup), rate = desc->rate;
    if (desc->schedule == VKF_RATE_INVERSE_ROOT)
        return rate * pow(d_model, -0.5) * fmin(pow(step, -0.5), step * pow(warmup, -1.5));
    if (done < warmup)
        return rate * done / warmup;
    if (desc->schedule == VKF_RATE_LINEAR)
        return rate * (1 - left);
    return desc->schedule == VKF_RATE_COSINE ? rate * 0.5 * (1 + cos(acos(-1.0) * left)) : rate;
}

// The gradient of the trainer's only parameter, as short as max_norm makes it, and its length before.
static double gradient_of(vkf_test_trained *t, float max_norm, double *out_gradient, size_t count)
{
    float *values = malloc(count * sizeof *values);
    double norm = 0;
    assert_non_null(values);
    vkf_test_must(t->gpu, vkf_trainer_compute_gradient(t->trainer, &t->batch, 0, values));
    for (size_t i = 0; i < count; i++)
        norm += (double)values[i] * values[i];
    norm = sqrt(norm);
    for (size_t i = 0; i < count; i++)
        out_gradient[i] = values[i] * (max_norm > 0 && norm > max_norm ? max_norm / norm : 1);
    free(values);
    return norm;
}

static vkf_tensor only_value(const vkf_test_trained *t)
{
    vkf_train_parameter only;
    assert_true(vkf_trainer_get_parameter(t->trainer, 0, &only));
    assert_false(vkf_trainer_get_parameter(t->trainer, 1, &only));
    return only.value;
}

static void check_formula(vkf_test_gpu *gpu, const formula *f)
{
    enum { COUNT = 40 };
    double value[COUNT], m[COUNT] = {0}, v[COUNT] = {0}, gradient[COUNT];
    float values[COUNT], wanted[COUNT];
    reference r = {value, m, v, COUNT};
    vkf_trainer_desc desc = f->desc;
    vkf_test_trained t;
    desc.trained = one_norm;
    desc.trained_count = 1;
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained("llama"), &desc);
    const vkf_tensor tensor = only_value(&t);
    vkf_test_must(gpu, vkf_buffer_read(tensor.buffer, tensor.offset_bytes, values, sizeof values));
    for (size_t i = 0; i < COUNT; i++)
        value[i] = values[i];
    for (int step = 1; step <= STEPS; step++) {
        const double norm = gradient_of(&t, desc.max_norm, gradient, COUNT);
        const double rate = rate_of(&desc, t.model->config.d_model, step);
        const vkf_train_result result = vkf_test_trained_step(&t, 1);
        if (desc.optimizer == VKF_OPTIMIZER_SGD)
            step_sgd(&r, &desc, gradient, rate);
        else
            step_adam(&r, &desc, gradient, rate, step);
        assert_true(fabs(result.rate - rate) <= 1e-12 && fabs(result.gradient_norm - norm) <= 1e-4 * norm);
        assert_int_equal(result.step, step);
        for (size_t i = 0; i < COUNT; i++)
            wanted[i] = (float)value[i];
        vkf_test_must(gpu, vkf_buffer_read(tensor.buffer, tensor.offset_bytes, values, sizeof values));
        assert_close(values, wanted, COUNT, 2e-6, 2e-6, f->name);
    }
    vkf_test_trained_close(&t);
}

static void test_steps_are_as_torch_has_them(void **state)
{
    const formula formulas[] = {
        {"adamw linear",
         {.rate = 0.1, .weight_decay = 0.1, .schedule = VKF_RATE_LINEAR, .warmup_steps = 2, .total_steps = 4}},
        {"adam cosine",
         {.optimizer = VKF_OPTIMIZER_ADAM,
          .rate = 0.1,
          .weight_decay = 0.1,
          .beta1 = 0.8,
          .beta2 = 0.99,
          .schedule = VKF_RATE_COSINE,
          .warmup_steps = 1,
          .total_steps = 5}},
        {"sgd", {.optimizer = VKF_OPTIMIZER_SGD, .rate = 0.1, .weight_decay = 0.1, .max_norm = 0.05f}},
        {"nesterov",
         {.optimizer = VKF_OPTIMIZER_SGD,
          .rate = 0.1,
          .momentum = 0.9,
          .nesterov = true,
          .schedule = VKF_RATE_INVERSE_ROOT,
          .warmup_steps = 2}},
    };
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++)
        check_formula(vkf_test_gpu_of(state), &formulas[i]);
}

// ---- bits

static const vkf_trainer_desc dropped = {
    .rate = 1e-2, .dropout = 0.1f, .attention_dropout = 0.1f, .activation_dropout = 0.1f, .seed = 11};

// The second training begins where the first was saved; a third one does the same without a pause.
static void test_trainings_go_on_bit_by_bit(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_trainer_desc other = dropped;
    vkf_test_directory directory;
    vkf_test_trained whole, first, second;
    char path[512];
    vkf_test_directory_make(&directory);
    (void)snprintf(path, sizeof path, "%s/saved", directory.path);
    vkf_test_trained_open(&whole, gpu, DEMO, &dropped);
    vkf_test_trained_open(&first, gpu, DEMO, &dropped);
    first.batch = whole.batch;
    (void)vkf_test_trained_step(&first, 2);
    vkf_test_must(gpu, vkf_trainer_save(first.trainer, path));
    vkf_test_trained_close(&first);
    other.seed = 12; // the checkpoint's is what counts
    vkf_test_trained_open(&second, gpu, DEMO, &other);
    vkf_test_must(gpu, vkf_trainer_restore(second.trainer, path));
    assert_int_equal(vkf_trainer_get_steps(second.trainer), 2);
    second.batch = whole.batch;
    (void)vkf_test_trained_step(&second, 2);
    (void)vkf_test_trained_step(&whole, 4);
    vkf_test_trained_assert_same(&whole, &second);
    assert_int_equal(vkf_trainer_save(second.trainer, path), VKF_ERROR_FILE); // it is there
    vkf_test_trained_close(&second);
    vkf_test_trained_close(&whole);
    other.optimizer = VKF_OPTIMIZER_ADAM;
    vkf_test_trained_open(&second, gpu, DEMO, &other);
    assert_int_equal(vkf_trainer_restore(second.trainer, path), VKF_ERROR_INVALID_ARGUMENT);
    vkf_test_trained_close(&second);
    vkf__directory_remove_unheld(directory.path, "saved");
    vkf_test_directory_remove(&directory);
}

static void test_what_is_frozen_stays(void **state)
{
    static const char *const patterns[] = {"*layers.1.*", "lm_head*"};
    const vkf_trainer_desc desc = {.trained = patterns, .trained_count = 2, .weight_decay = 0.1, .rate = 1e-2};
    vkf_test_trained t;
    size_t count, at = 0;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &desc);
    float *before = vkf_test_trained_read(&t, &count);
    (void)vkf_test_trained_step(&t, 1);
    float *after = vkf_test_trained_read(&t, &count);
    for (size_t i = 0; i < t.trainer->parameters.count; i++) {
        const vkf__parameter *item = &t.trainer->parameters.items[i];
        const size_t bytes = vkf__span_of(&item->value).size_bytes;
        const bool trains = vkf__name_matches(patterns[0], item->name) || vkf__name_matches(patterns[1], item->name);
        if ((memcmp(before + at, after + at, bytes) != 0) != trains)
            fail_msg("%s: %s", item->name, trains ? "has not changed" : "has changed");
        at += bytes / sizeof(float);
    }
    free(before);
    free(after);
    vkf_test_trained_close(&t);
}

// Whether a step of BART, whose trainer has the patterns, changes final_logits_bias.
static bool step_changes_buffer(vkf_test_gpu *gpu, const char *const *patterns, uint32_t count)
{
    const vkf_trainer_desc desc = {.trained = patterns, .trained_count = count, .rate = 1e-2};
    vkf_test_trained t;
    size_t all, at = 0, i = 0;
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained("bart"), &desc);
    const vkf__parameter *items = t.trainer->parameters.items;
    for (; strcmp(items[i].name, "final_logits_bias") != 0; i++)
        at += vkf__span_of(&items[i].value).size_bytes / sizeof(float);
    float *before = vkf_test_trained_read(&t, &all);
    (void)vkf_test_trained_step(&t, 1);
    float *after = vkf_test_trained_read(&t, &all);
    const bool changes = memcmp(before + at, after + at, vkf__span_of(&items[i].value).size_bytes) != 0;
    free(before);
    free(after);
    vkf_test_trained_close(&t);
    return changes;
}

static void test_a_buffer_of_transformers_trains_where_it_is_named(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    assert_false(step_changes_buffer(gpu, NULL, 0));
    assert_true(step_changes_buffer(gpu, (const char *const[]){"final_logits_bias"}, 1));
}

// The mean over the labels of all batches, though the halves have different numbers of them.
static void test_halves_of_a_batch_are_the_batch(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_trainer_desc desc = {.optimizer = VKF_OPTIMIZER_SGD, .rate = 1};
    const uint32_t half = VKF_TEST_BATCH / 2;
    vkf_test_trained whole, parts;
    vkf_train_result result;
    size_t count;
    vkf_test_trained_open(&whole, gpu, vkf_test_pretrained("llama"), &desc);
    vkf_test_trained_open(&parts, gpu, vkf_test_pretrained("llama"), &desc);
    for (int i = 2; i < 5; i++)
        whole.labels[i] = -100;
    vkf_train_batch batches[] = {whole.batch, whole.batch};
    batches[0].batch = batches[1].batch = half;
    batches[1].target_ids += half * VKF_TEST_TARGET;
    batches[1].labels += half * VKF_TEST_TARGET;
    const vkf_train_result all = vkf_test_trained_step(&whole, 1);
    vkf_test_must(gpu, vkf_trainer_step(parts.trainer, batches, 2, &result));
    assert_int_equal(result.labels, all.labels);
    assert_true(fabs(result.loss - all.loss) < 1e-5);
    float *a = vkf_test_trained_read(&whole, &count), *b = vkf_test_trained_read(&parts, &count);
    assert_close(b, a, count, 2e-6, 2e-5, "halves of a batch");
    free(a);
    free(b);
    vkf_test_trained_close(&parts);
    vkf_test_trained_close(&whole);
}

// Two layers a side, each there and back, and what lies ahead of them, between, behind, and at the other end.
static void test_a_layer_has_a_command_buffer_each_way(void **state)
{
    vkf_test_trained t;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), DEMO, &(vkf_trainer_desc){0});
    const vkf_model_config *config = &t.model->config;
    const size_t layers = config->num_encoder_layers + config->num_decoder_layers;
    assert_int_equal(t.trainer->pass_parts, 2 * layers + 5);
    assert_int_equal(t.trainer->pass_and_update.count, t.trainer->pass_parts + 1);
    assert_int_equal(t.trainer->evaluation_parts.count, layers + 3);
    vkf_test_trained_close(&t);
}

// ---- memory

static void test_a_plan_is_what_is_allocated(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_trainer_desc desc = {.max_batch = 2, .max_target_len = 5, .rate = 1};
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("llama"));
    for (int i = 0; i < 4; i++) {
        const vkf_memory_usage before = vkf_test_usage(gpu);
        vkf_memory_plan plan;
        vkf_trainer *trainer = NULL;
        desc.recompute = i % 2 == 1;
        desc.lora_rank = i < 2 ? 0 : 3;
        desc.optimizer = i < 3 ? VKF_OPTIMIZER_ADAMW : VKF_OPTIMIZER_SGD;
        desc.mixed_precision = i < 2 ? VKF_DTYPE_F32 : VKF_DTYPE_F16;
        vkf_test_must(gpu, vkf_trainer_plan(model, &desc, &plan));
        vkf_test_must(gpu, vkf_trainer_create(model, &desc, &trainer));
        vkf_test_assert_took(gpu, &before, &plan);
        vkf_trainer_destroy(&trainer);
        const vkf_memory_usage after = vkf_test_usage(gpu);
        assert_memory_equal(after.used_bytes, before.used_bytes, sizeof after.used_bytes);
    }
    vkf_model_destroy(&model);
}

static vkf_status create_and_step(vkf_model *model, const vkf_trainer_desc *desc, const vkf_train_batch *batch)
{
    vkf_trainer *trainer = NULL;
    vkf_train_result result;
    vkf_status status = vkf_trainer_create(model, desc, &trainer);
    if (status == VKF_OK)
        status = vkf_trainer_step(trainer, batch, 1, &result);
    vkf_trainer_destroy(&trainer);
    return status;
}

// Each of the first allocations fails, then fewer. A sanitizer's build sees what is left.
static void test_failures_of_host_memory_leave_nothing(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_trainer_desc desc = {.max_batch = 1,
                                   .max_target_len = 2,
                                   .rate = 1,
                                   .recompute = true,
                                   .lora_rank = 2,
                                   .trained = one_norm,
                                   .trained_count = 1};
    const int32_t ids[2] = {1, 2};
    const vkf_train_batch batch = {.batch = 1, .target_len = 2, .target_ids = ids, .labels = ids};
    vkf__host *host = &gpu->context->host;
    const vkf_allocator allocator = host->allocator;
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("llama"));
    const vkf_memory_usage before = vkf_test_usage(gpu);
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    size_t failures = 0;
    for (size_t at = 1; status != VKF_OK; at += vkf_test_all() ? 1 : 1 + at / 8, failures++) {
        counting_allocator memory = {.fail_call = at};
        host->allocator = counting_callbacks(&memory);
        status = create_and_step(model, &desc, &batch);
        host->allocator = allocator;
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        const vkf_memory_usage after = vkf_test_usage(gpu);
        assert_memory_equal(after.used_bytes, before.used_bytes, sizeof after.used_bytes);
    }
    assert_in_range(failures, 20, 5000);
    vkf_model_destroy(&model);
}

// ---- numbers that are not finite

static void test_a_parameter_that_is_not_finite_is_named(void **state)
{
    const vkf_trainer_desc desc = {.trained = one_norm, .trained_count = 1};
    const float nan_value = NAN;
    vkf_test_trained t;
    vkf_train_result result;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &desc);
    const vkf_tensor value = only_value(&t);
    vkf_test_must(t.gpu, vkf_buffer_write(value.buffer, value.offset_bytes + 8, &nan_value, sizeof nan_value));
    vkf_test_expect(t.gpu, vkf_trainer_step(t.trainer, &t.batch, 1, &result), VKF_ERROR_NOT_FINITE, "in step 1");
    assert_non_null(strstr(t.gpu->last_error, "the parameter model.norm.weight"));
    assert_int_equal(vkf_trainer_evaluate(t.trainer, &t.batch, &result), VKF_ERROR_NOT_FINITE);
    assert_int_equal(vkf_trainer_get_steps(t.trainer), 0);
    vkf_test_trained_close(&t);
}

// Weights of which each is finite, and sums of a few are not.
static void test_a_layer_that_is_not_finite_is_named(void **state)
{
    vkf_test_trained t;
    vkf_train_result result;
    size_t at = 0;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &(vkf_trainer_desc){0});
    (void)vkf_test_trained_step(&t, 1); // moments are no zeros from here on
    while (strcmp(t.trainer->parameters.items[at].name, "model.layers.1.mlp.up_proj.weight") != 0)
        at++;
    const vkf__span weight = vkf__span_of(&t.trainer->parameters.items[at].value);
    const size_t count = weight.size_bytes / sizeof(float);
    float *values = malloc(weight.size_bytes);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = 3e38f;
    vkf_test_must(t.gpu, vkf_buffer_write(weight.buffer, weight.offset_bytes, values, weight.size_bytes));
    free(values);
    vkf_test_everything before = vkf_test_trained_everything(&t);
    vkf_test_expect(t.gpu, vkf_trainer_step(t.trainer, &t.batch, 1, &result), VKF_ERROR_NOT_FINITE,
                    "that of decoder.1.");
    vkf_test_everything after = vkf_test_trained_everything(&t);
    vkf_test_expect_same(&before, &after, "a loss that is not finite");
    vkf_test_trained_close(&t);
}

static void test_a_skipped_step_changes_nothing(void **state)
{
    const float infinite = INFINITY;
    vkf_test_trained t;
    vkf_train_result result;
    vkf_test_trained_open(&t, vkf_test_gpu_of(state), vkf_test_pretrained("llama"), &(vkf_trainer_desc){0});
    (void)vkf_test_trained_step(&t, 1);
    vkf_test_everything before = vkf_test_trained_everything(&t);
    const vkf__span *gradient = &t.trainer->parameters.items[0].gradient;
    vkf_test_must(t.gpu, vkf_buffer_write(gradient->buffer, gradient->offset_bytes, &infinite, sizeof infinite));
    vkf_test_must(t.gpu, vkf_trainer_step(t.trainer, &t.batch, 1, &result));
    assert_true(result.skipped && isfinite(result.loss));
    before.state.skipped++; // it counts, and so does its batch
    before.state.examples++;
    vkf_test_everything after = vkf_test_trained_everything(&t);
    vkf_test_expect_same(&before, &after, "a step that is skipped");
    // The next step has nothing of it.
    result = vkf_test_trained_step(&t, 1);
    assert_true(!result.skipped && result.step == 2);
    vkf_test_trained_close(&t);
}

// ---- refusals

typedef struct refusal {
    const char *family;
    vkf_trainer_desc desc;
    vkf_status status;
    const char *says;
} refusal;

static void check_refusal(vkf_test_gpu *gpu, const refusal *r)
{
    const vkf_model_desc model_desc = {.directory = vkf_test_pretrained(r->family),
                                       .trainable = strcmp(r->says, "vkf_model_desc.trainable") != 0};
    vkf_trainer_desc desc = r->desc;
    vkf_trainer *trainer = NULL;
    vkf_memory_plan plan;
    desc.max_batch = strcmp(r->says, "max_batch") != 0;
    desc.max_source_len = desc.max_target_len = 2;
    desc.rate = desc.rate == 0 ? 1 : desc.rate;
    vkf_model *model = vkf_test_load(gpu, &model_desc);
    if (vkf_trainer_plan(model, &desc, &plan) != r->status)
        fail_msg("%s, %s: %s", r->family, r->says, gpu->last_error);
    gpu->last_error[0] = '\0';
    vkf_test_expect(gpu, vkf_trainer_create(model, &desc, &trainer), r->status, r->says);
    vkf_model_destroy(&model);
}

static void test_trainers_are_refused(void **state)
{
    static const char *const nobody[] = {"model.norm.wait"};
    const vkf_status invalid = VKF_ERROR_INVALID_ARGUMENT, unsupported = VKF_ERROR_UNSUPPORTED;
    const refusal refusals[] = {
        {"llama", {0}, invalid, "vkf_model_desc.trainable"},
        {"llama", {0}, invalid, "max_batch"},
        {"llama", {.trained = nobody, .trained_count = 1}, invalid, "near that are model.norm.weight"},
        {"llama", {.trained_count = 1}, invalid, "trained is NULL"},
        {"llama", {.rate = -1}, invalid, "rate is not above 0"},
        {"llama", {.rate = NAN}, invalid, "rate is not above 0"},
        {"llama", {.optimizer = VKF_OPTIMIZER_COUNT}, invalid, "none of its kind"},
        {"llama", {.schedule = VKF_RATE_LINEAR}, invalid, "take total_steps"},
        {"llama", {.schedule = VKF_RATE_INVERSE_ROOT}, invalid, "takes warmup_steps"},
        {"llama", {.dropout = 1}, invalid, "a dropout is not"},
        {"llama", {.beta1 = 1}, invalid, "beta1"},
        {"llama", {.max_norm = -1}, invalid, "max_norm"},
        {"llama", {.mixed_precision = VKF_DTYPE_I32}, invalid, "none of F32, F16 and BF16"},
        {"llama", {.reserved = {[3] = 1}}, unsupported, "reserved"},
        {"llama", {.loss = VKF_TRAIN_LOSS_CONTRASTIVE}, invalid, "for an ENCODER"},
        {"bert", {0}, invalid, "has no head"},
        {"bert-question-answering", {0}, unsupported, "question answering"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refusal(vkf_test_gpu_of(state), &refusals[i]);
}

static void expect_batch(vkf_test_trained *t, const vkf_train_batch *batch, vkf_status status, const char *says)
{
    vkf_train_result result;
    t->gpu->last_error[0] = '\0';
    vkf_test_expect(t->gpu, vkf_trainer_step(t->trainer, batch, 1, &result), status, says);
    assert_int_equal(vkf_trainer_evaluate(t->trainer, batch, &result), status);
}

static void check_sizes(vkf_test_trained *t)
{
    vkf_train_batch batch = t->batch;
    batch.batch++;
    expect_batch(t, &batch, VKF_ERROR_TOO_LARGE, "a batch of 5 with 7 source and 5 target positions");
    batch = t->batch;
    batch.batch = 0;
    expect_batch(t, &batch, VKF_ERROR_INVALID_ARGUMENT, "a size is 0");
    batch = t->batch;
    batch.source_len += 3; // the trainer has room for two more
    expect_batch(t, &batch, VKF_ERROR_TOO_LARGE, "10 source");
    batch = t->batch;
    batch.target_ids = NULL;
    expect_batch(t, &batch, VKF_ERROR_INVALID_ARGUMENT, "ids are NULL");
    batch = t->batch;
    batch.labels = NULL;
    expect_batch(t, &batch, VKF_ERROR_INVALID_ARGUMENT, "labels are NULL");
}

static void check_numbers(vkf_test_trained *t)
{
    int32_t *const places[] = {&t->source[3], &t->target[2], &t->labels[4]};
    const int32_t wrong[] = {-1, 1 << 20, 1 << 20};
    const char *const says[] = {"source_ids[3] is -1", "target_ids[2] is 1048576", "labels[4] is 1048576"};
    const uint32_t length = t->lengths[1];
    t->lengths[1] = 0;
    expect_batch(t, &t->batch, VKF_ERROR_INVALID_ARGUMENT, "source_lengths[1] is 0");
    t->lengths[1] = VKF_TEST_SOURCE + 1;
    expect_batch(t, &t->batch, VKF_ERROR_INVALID_ARGUMENT, "source_lengths[1] is 8");
    t->lengths[1] = length;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const int32_t right = *places[i];
        *places[i] = wrong[i];
        expect_batch(t, &t->batch, VKF_ERROR_INVALID_ARGUMENT, says[i]);
        *places[i] = right;
    }
    for (int i = 0; i < VKF_TEST_BATCH * VKF_TEST_TARGET; i++)
        t->labels[i] = -100;
    expect_batch(t, &t->batch, VKF_ERROR_INVALID_ARGUMENT, "no label of the batch counts");
}

static void test_batches_are_refused(void **state)
{
    const vkf_trainer_desc contrastive = {.loss = VKF_TRAIN_LOSS_CONTRASTIVE};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    float gradient[1];
    vkf_test_trained t;
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained("bart"), &(vkf_trainer_desc){0});
    assert_int_equal(vkf_trainer_compute_gradient(t.trainer, &t.batch, 1000, gradient), VKF_ERROR_INVALID_ARGUMENT);
    check_sizes(&t);
    check_numbers(&t);
    vkf_test_trained_close(&t);
    vkf_test_trained_open(&t, gpu, vkf_test_pretrained("sentence-mean"), &contrastive);
    t.batch.batch = 3;
    expect_batch(&t, &t.batch, VKF_ERROR_INVALID_ARGUMENT, "3 sentences are no pairs");
    assert_int_equal(vkf_trainer_save_adapter(t.trainer, "nowhere"), VKF_ERROR_INVALID_ARGUMENT);
    vkf_test_trained_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_as_torch_has_them),
        cmocka_unit_test(test_trainings_go_on_bit_by_bit),
        cmocka_unit_test(test_what_is_frozen_stays),
        cmocka_unit_test(test_a_buffer_of_transformers_trains_where_it_is_named),
        cmocka_unit_test(test_halves_of_a_batch_are_the_batch),
        cmocka_unit_test(test_a_layer_has_a_command_buffer_each_way),
        cmocka_unit_test(test_a_plan_is_what_is_allocated),
        cmocka_unit_test(test_failures_of_host_memory_leave_nothing),
        cmocka_unit_test(test_a_parameter_that_is_not_finite_is_named),
        cmocka_unit_test(test_a_layer_that_is_not_finite_is_named),
        cmocka_unit_test(test_a_skipped_step_changes_nothing),
        cmocka_unit_test(test_trainers_are_refused),
        cmocka_unit_test(test_batches_are_refused),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
