// What a profiler is told of layers' and sessions' runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/registry.h"
#include "sample_layers.h"

#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

enum { MAX_DISPATCHES = 256, MAX_SUBMISSIONS = 16, TEXT = 64 };

static const vkf_layer_sizes sizes = {2, 7, 9};

typedef struct told {
    uint32_t submissions, dispatches;
    char names[MAX_SUBMISSIONS][TEXT];
    vkf_submission_profile submission[MAX_SUBMISSIONS];
    char labels[MAX_DISPATCHES][TEXT], parts[MAX_DISPATCHES][TEXT];
    vkf_dispatch_profile dispatch[MAX_DISPATCHES];
} told;

static void take_submission(void *user, const vkf_submission_profile *submission)
{
    told *t = user;
    assert_true(t->submissions < MAX_SUBMISSIONS);
    snprintf(t->names[t->submissions], TEXT, "%s", submission->name);
    t->submission[t->submissions++] = *submission;
}

static bool kernel_exists(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        if (strcmp(vkf__kernel_at(i)->name, name) == 0)
            return true;
    return false;
}

static void take_dispatch(void *user, const vkf_dispatch_profile *dispatch)
{
    told *t = user;
    assert_true(t->submissions > 0 && t->dispatches < MAX_DISPATCHES); // a submission comes before its dispatches
    assert_true(kernel_exists(dispatch->kernel));
    assert_true(dispatch->config[0] != '\0');
    snprintf(t->labels[t->dispatches], TEXT, "%s", dispatch->label);
    snprintf(t->parts[t->dispatches], TEXT, "%s", dispatch->part);
    t->dispatch[t->dispatches++] = *dispatch;
}

static int open_timed(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.timestamps = true};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

static int open_untimed(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {0};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

static bool has_timestamps(vkf_test_gpu *gpu)
{
    vkf_device_info info;
    vkf_context_get_device_info(gpu->context, &info);
    return info.timestamps;
}

static void set_profiler(vkf_test_gpu *gpu, told *t)
{
    const vkf_profiler profiler = {take_submission, take_dispatch, t};
    *t = (told){0};
    assert_int_equal(vkf_context_set_profiler(gpu->context, &profiler), VKF_OK);
}

static const vkf_dispatch_profile *find(const told *t, const char *label)
{
    for (uint32_t i = 0; i < t->dispatches; i++)
        if (strcmp(t->labels[i], label) == 0)
            return &t->dispatch[i];
    fail_msg("no dispatch %s", label);
    return NULL;
}

// Dispatches follow each other within their submission's time, or have no time at all.
static void check_times(const told *t, bool timed)
{
    double end_ns = 0;
    for (uint32_t i = 0; i < t->dispatches; i++) {
        const vkf_dispatch_profile *d = &t->dispatch[i];
        assert_true(timed ? d->gpu_ns >= 0 && d->begin_ns >= 0 : d->gpu_ns == 0 && d->begin_ns == 0);
        end_ns = d->begin_ns + d->gpu_ns;
    }
    for (uint32_t i = 0; i < t->submissions; i++) {
        const vkf_submission_profile *s = &t->submission[i];
        assert_true(s->begin_ns > 0 && s->update_ns >= 0 && s->submit_ns >= 0 && s->wait_ns > 0);
        assert_true(timed ? s->gpu_ns > 0 && s->gpu_ns < 60e9 : s->gpu_ns == 0);
    }
    if (t->submissions == 1)
        assert_true(t->submission[0].gpu_ns == end_ns);
}

static void check_layers(void **state, bool timed)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sample_weights weights;
    sample_data data;
    told *t = calloc(1, sizeof *t);
    assert_non_null(t);
    sample_weights_create(gpu, &weights);
    sample_data_create(&gpu->random, sizes, &data);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *layer = NULL;
        assert_int_equal(sample_layer_create(gpu->context, kind, &weights, sizes, &layer), VKF_OK);
        set_profiler(gpu, t);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        assert_int_equal(t->submissions, 1);
        assert_true(t->dispatches > 0 && t->dispatches == t->submission[0].dispatch_count);
        check_times(t, timed && has_timestamps(gpu));
        // The numbers are those of the layer's products, whichever kernel does them.
        const double rows = 2 * 7, dim = SAMPLE_DIM, hidden = SAMPLE_HIDDEN;
        if (kind == SAMPLE_FEED_FORWARD) {
            assert_true(find(t, "linear2")->flops == 2 * rows * dim * hidden);
            assert_true(find(t, "linear2")->bytes_written == 4 * rows * dim);
        }
        if (kind == SAMPLE_DECODER)
            assert_true(find(t, "multihead_attn.out_proj")->flops == 2 * rows * dim * dim);
        vkf_layer_destroy(&layer);
    }
    assert_int_equal(vkf_context_set_profiler(gpu->context, NULL), VKF_OK);
    sample_data_destroy(&data);
    sample_weights_destroy(&weights);
    free(t);
}

static void test_layers(void **state)
{
    check_layers(state, true);
}

static void test_layers_without_timestamps(void **state)
{
    check_layers(state, false);
}

static bool has_part(const told *t, const char *part)
{
    for (uint32_t i = 0; i < t->dispatches; i++)
        if (strcmp(t->parts[i], part) == 0)
            return true;
    return false;
}

// An encoder and two steps; what had nothing to do is left out: keys and values of the memory are made once.
static void test_session(void **state)
{
    static const int32_t source[] = {5, 9, 17};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc model_desc = {.directory = DEMO_MODEL};
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 4, .max_target_len = 3};
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    int32_t ids[3];
    uint32_t length;
    told *t = calloc(1, sizeof *t);
    assert_non_null(t);
    assert_int_equal(vkf_model_load(gpu->context, &model_desc, &model), VKF_OK);
    assert_int_equal(vkf_session_create(model, &desc, &session), VKF_OK);
    const vkf_greedy_args args = {
        .batch = 1, .source_len = 3, .source_ids = source, .out_ids = ids, .out_lengths = &length};
    set_profiler(gpu, t);
    assert_int_equal(vkf_session_greedy(session, &args), VKF_OK);
    assert_int_equal(t->submissions, length);
    assert_string_equal(t->names[0], "encoder");
    assert_string_equal(t->names[1], "step");
    assert_true(has_part(t, "encoder.embed") && has_part(t, "encoder.1") && has_part(t, "step.0") &&
                has_part(t, "step.head"));
    if (length > 2)
        assert_true(t->submission[1].dispatch_count > t->submission[2].dispatch_count);
    check_times(t, has_timestamps(gpu));
    uint32_t told_before = t->dispatches;
    assert_int_equal(vkf_context_set_profiler(gpu->context, NULL), VKF_OK);
    assert_int_equal(vkf_session_greedy(session, &args), VKF_OK);
    assert_int_equal(t->dispatches, told_before);
    assert_int_equal(vkf_context_set_profiler(NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    free(t);
}

// What the last dispatch has written, of a probed layer.
typedef struct probed {
    uint32_t outputs, stop_at;   // 0: never
    uint32_t submissions, index; // as the outputs say
    char label[TEXT];
    float values[2 * 7 * SAMPLE_DIM];
    uint64_t count;
} probed;

static bool take_output(void *user, const vkf_probe_output *output)
{
    probed *p = user;
    uint64_t count = 1;
    for (uint32_t i = 0; i < output->rank; i++)
        count *= output->shape[i];
    assert_true(output->rank >= 1 && output->rank <= 4 && output->count == count && count > 0);
    assert_true(kernel_exists(output->kernel));
    assert_true(output->index == 0 || output->index == p->index + 1);
    p->index = output->index;
    p->submissions += output->index == 0;
    snprintf(p->label, TEXT, "%s", output->label);
    p->count = count;
    if (count <= sizeof p->values / sizeof p->values[0])
        memcpy(p->values, output->values, count * sizeof *output->values);
    return ++p->outputs != p->stop_at;
}

static void set_probe(vkf_test_gpu *gpu, probed *p)
{
    assert_int_equal(vkf_context_set_probe(gpu->context, p ? take_output : NULL, p), VKF_OK);
}

// A probed layer gives what it gives otherwise, and its last dispatch wrote just that.
static void test_probe_of_layers(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sample_weights weights;
    sample_data data;
    sample_weights_create(gpu, &weights);
    sample_data_create(&gpu->random, sizes, &data);
    size_t count = sample_data_outputs(&data), bytes = count * sizeof(float);
    float *expected = malloc(bytes);
    assert_non_null(expected);
    for (sample_kind kind = SAMPLE_FEED_FORWARD; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *layer = NULL;
        probed p = {0};
        assert_int_equal(sample_layer_create(gpu->context, kind, &weights, sizes, &layer), VKF_OK);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        memcpy(expected, data.out, bytes);
        memset(data.out, 0, bytes);
        set_probe(gpu, &p);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        set_probe(gpu, NULL);
        assert_memory_equal(data.out, expected, bytes);
        assert_true(p.outputs > 1 && p.submissions == 1 && p.count == count);
        assert_memory_equal(p.values, expected, bytes);
        p = (probed){.stop_at = 2};
        set_probe(gpu, &p);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_ERROR_CANCELLED);
        set_probe(gpu, NULL);
        assert_int_equal(p.outputs, 2);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        assert_memory_equal(data.out, expected, bytes);
        vkf_layer_destroy(&layer);
    }
    free(expected);
    sample_data_destroy(&data);
    sample_weights_destroy(&weights);
}

// Tokens of a probed session are those of any other, and logits are the last numbers of a step.
static void test_probe_of_session(void **state)
{
    static const int32_t source[] = {5, 9, 17};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc model_desc = {.directory = DEMO_MODEL, .precision = VKF_MODEL_PRECISION_F16};
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 4, .max_target_len = 8};
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    int32_t ids[2][8] = {0};
    uint32_t length;
    probed p = {0};
    assert_int_equal(vkf_model_load(gpu->context, &model_desc, &model), VKF_OK);
    assert_int_equal(vkf_session_create(model, &desc, &session), VKF_OK);
    vkf_greedy_args args = {
        .batch = 1, .source_len = 3, .source_ids = source, .out_ids = ids[0], .out_lengths = &length};
    assert_int_equal(vkf_session_greedy(session, &args), VKF_OK);
    args.out_ids = ids[1];
    set_probe(gpu, &p);
    assert_int_equal(vkf_session_greedy(session, &args), VKF_OK);
    set_probe(gpu, NULL);
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
    assert_string_equal(p.label, "generator");
    assert_int_equal(p.submissions, length); // the encoder's, and a step for each token but the first
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
    assert_int_equal(vkf_context_set_probe(NULL, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_layers, open_timed, vkf_test_gpu_teardown),
        cmocka_unit_test_setup_teardown(test_layers_without_timestamps, open_untimed, vkf_test_gpu_teardown),
        cmocka_unit_test_setup_teardown(test_session, open_timed, vkf_test_gpu_teardown),
        cmocka_unit_test_setup_teardown(test_probe_of_layers, open_timed, vkf_test_gpu_teardown),
        cmocka_unit_test_setup_teardown(test_probe_of_session, open_untimed, vkf_test_gpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
