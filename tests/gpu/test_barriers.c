// Where an encoder layer and a decoder layer have barriers, and why: the lists of listed_layers.c and the tables of
// docs/command-buffers.md are what is recorded, no more and no less.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_vulkan.h"
#include "fixture.h"
#include "layer/layer.h"
#include "listed_layers.h"
#include "model/session/session.h"
#include "model_files.h"
#include "op/layer_norm.h"

#define DOCUMENT VKF_TEST_SOURCE_DIR "/docs/command-buffers.md"
#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

static int open_counted(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.get_instance_proc_addr = fake_vulkan_get_proc};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

// A recorded layer ----------------------------------------------------------------------------------------------------

typedef struct recorded {
    listed_io io;
    vkf__work work;
    vkf__submission submission;
    vkf_buffer *arena;
} recorded;

static void record(vkf_test_gpu *gpu, const listed_layer *layer, recorded *out)
{
    recorded *r = out;
    const uint32_t b = LISTED_BATCH, h = LISTED_HEADS, l = LISTED_LEN, s = LISTED_MEMORY_LEN, d = LISTED_DIM;
    *r = (recorded){0};
    r->io.pool = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, (uint32_t[]){LISTED_POOL}, NULL);
    r->io.x = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 3, (uint32_t[]){b, l, d}, NULL);
    r->io.memory = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 3, (uint32_t[]){b, s, d}, NULL);
    r->io.self_weights = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 4, (uint32_t[]){b, h, l, l}, NULL);
    r->io.cross_weights = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 4, (uint32_t[]){b, h, l, s}, NULL);
    vkf__work_init(&r->work, gpu->context, "layer");
    const listed_args args = {layer, &r->io};
    assert_int_equal(vkf__work_plan(&r->work, listed_layer_emit, &args), VKF_OK);
    assert_int_equal(
        vkf__buffer_create(&gpu->context->transfer, VKF_MEMORY_DEVICE, r->work.plan.arena_bytes, "arena", &r->arena),
        VKF_OK);
    assert_int_equal(vkf__work_build(&r->work, r->arena, listed_layer_emit, &args), VKF_OK);
    assert_int_equal(vkf__submission_init(&r->submission, &gpu->context->device, "layer"), VKF_OK);
    fake_vulkan_reset();
    assert_int_equal(vkf__work_record_own(&r->work, &r->submission), VKF_OK);
}

static void forget(recorded *r)
{
    vkf__work_finish(&r->work);
    vkf__submission_finish(&r->submission);
    vkf_buffer_destroy(&r->arena);
    vkf_tensor_destroy(&r->io.pool);
    vkf_tensor_destroy(&r->io.x);
    vkf_tensor_destroy(&r->io.memory);
    vkf_tensor_destroy(&r->io.self_weights);
    vkf_tensor_destroy(&r->io.cross_weights);
}

// What is recorded, as text -------------------------------------------------------------------------------------------

typedef struct text {
    char data[8192];
    size_t used;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int added = vsnprintf(t->data + t->used, sizeof t->data - t->used, format, args);
    va_end(args);
    assert_true(added >= 0 && (size_t)added < sizeof t->data - t->used);
    t->used += (size_t)added;
}

static void put_list(text *t, const vkf__work *work)
{
    for (uint32_t i = 0; i < work->plan.node_count; i++)
        put(t, "%s%s", i == 0 ? "" : work->built.nodes[i].barrier ? " | " : ", ", work->built.nodes[i].label);
}

static uint32_t group_begin(const vkf__work *work, uint32_t index)
{
    while (index > 0 && !work->built.nodes[index].barrier)
        index--;
    return index;
}

// Whether an access of `later` meets one of `earlier` in the same bytes, in the ways that are asked for.
static bool meets(const vkf__node *earlier, bool earlier_writes, const vkf__node *later, bool later_writes)
{
    for (uint32_t i = 0; i < earlier->kernel->operand_count; i++) {
        const vkf__access *a = &earlier->accesses[i];
        for (uint32_t j = 0; a->write == earlier_writes && j < later->kernel->operand_count; j++) {
            const vkf__access *b = &later->accesses[j];
            if (b->write == later_writes && a->buffer == b->buffer && a->begin < b->end && b->begin < a->end)
                return true;
        }
    }
    return false;
}

static bool depends(const vkf__node *later, const vkf__node *earlier)
{
    return meets(earlier, true, later, false);
}

static bool conflicts(const vkf__node *later, const vkf__node *earlier)
{
    return depends(later, earlier) || meets(earlier, true, later, true) || meets(earlier, false, later, true);
}

// The dispatches of the group [begin, end), and what each reads of the group before.
static void put_row(text *t, const vkf__work *work, uint32_t begin, uint32_t end)
{
    uint32_t before = begin > 0 ? group_begin(work, begin - 1) : 0;
    put(t, "|");
    for (uint32_t i = begin; i < end; i++)
        put(t, "%s `%s`", i > begin ? "," : "", work->built.nodes[i].label);
    put(t, " |");
    const char *mark = "";
    for (uint32_t i = before; i < begin; i++) {
        bool needed = false;
        for (uint32_t j = begin; j < end; j++)
            needed = needed || depends(&work->built.nodes[j], &work->built.nodes[i]);
        if (needed)
            put(t, "%s `%s`", mark, work->built.nodes[i].label);
        mark = needed ? "," : mark;
    }
    put(t, "%s |\n", begin == 0 ? " what ran before in the queue" : "");
}

static void put_table(text *t, const char *name, const vkf__work *work)
{
    put(t, "<!-- barriers of: %s -->\n", name);
    put(t, "| side by side | behind a barrier, for they read what was written by |\n|---|---|\n");
    for (uint32_t begin = 0; begin < work->plan.node_count;) {
        uint32_t end = begin + 1;
        while (end < work->plan.node_count && !work->built.nodes[end].barrier)
            end++;
        put_row(t, work, begin, end);
        begin = end;
    }
    put(t, "\n");
}

// What is wrong with the barriers, or NULL: dispatches side by side touch nothing of each other's, and behind a barrier
// one needs a result from before it. A barrier for the sake of memory that is used again has no such result.
static const char *barrier_problem(const vkf__work *work)
{
    for (uint32_t i = 1; i < work->plan.node_count; i++) {
        const vkf__node *node = &work->built.nodes[i];
        bool needed = false;
        for (uint32_t j = group_begin(work, i - 1); j < i; j++)
            needed = needed || depends(node, &work->built.nodes[j]);
        for (uint32_t j = group_begin(work, i); j < i; j++) {
            if (conflicts(node, &work->built.nodes[j]))
                return "a barrier is missing";
        }
        if (node->barrier && !needed)
            return "a barrier is idle";
    }
    return NULL;
}

// Tests ---------------------------------------------------------------------------------------------------------------

static void test_barriers_of_layers(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < LISTED_LAYERS; i++) {
        recorded r;
        text list = {0};
        record(gpu, &listed_layers[i], &r);
        put_list(&list, &r.work);
        assert_string_equal(list.data, listed_layers[i].list);
        const char *problem = barrier_problem(&r.work);
        if (problem)
            fail_msg("%s: %s", listed_layers[i].name, problem);
        uint64_t barriers = 0;
        for (uint32_t n = 0; n < r.work.plan.node_count; n++)
            barriers += r.work.built.nodes[n].barrier;
        // One more before the first dispatch, and one after the last.
        assert_int_equal(fake_vulkan_calls("vkCmdPipelineBarrier"), barriers + 2);
        assert_int_equal(fake_vulkan_calls("vkCmdDispatch"), r.work.plan.node_count);
        forget(&r);
    }
}

static void test_barriers_of_a_layer_object(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const listed_layer *encoder = &listed_layers[0];
    text list = {0}, expected = {0};
    vkf_layer *layer = NULL;
    vkf_tensor pool = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 1, (uint32_t[]){LISTED_POOL}, NULL);
    const vkf_transformer_layer_desc desc = listed_layer_desc(encoder, &pool);
    assert_int_equal(vkf_encoder_layer_create(gpu->context, &desc, &layer), VKF_OK);
    put_list(&list, &layer->frames[0].work);
    put(&expected, "%s%s", vkf__layer_norm_adds(gpu->context) ? "" : "input | ", encoder->list);
    assert_string_equal(list.data, expected.data);
    vkf_layer_destroy(&layer);
    vkf_tensor_destroy(&pool);
}

static void test_barrier_problem_notices(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const listed_layer *layer = &listed_layers[1];
    recorded r;
    record(gpu, layer, &r);
    assert_null(barrier_problem(&r.work));
    for (uint32_t i = 1; i < r.work.plan.node_count; i++) {
        text list = {0};
        bool barrier = r.work.built.nodes[i].barrier;
        r.work.built.nodes[i].barrier = !barrier;
        assert_string_equal(barrier_problem(&r.work), barrier ? "a barrier is missing" : "a barrier is idle");
        put_list(&list, &r.work);
        assert_string_not_equal(list.data, layer->list);
        r.work.built.nodes[i].barrier = barrier;
    }
    forget(&r);
}

static void test_barriers_are_documented(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    char *document = vkf_test_read_file(DOCUMENT, NULL);
    int missing = 0;
    for (size_t i = 0; i < LISTED_LAYERS; i++) {
        recorded r;
        text table = {0};
        record(gpu, &listed_layers[i], &r);
        put_table(&table, listed_layers[i].name, &r.work);
        if (!strstr(document, table.data))
            print_error("%s%s", missing++ == 0 ? "what is recorded, but not in " DOCUMENT ":\n" : "", table.data);
        forget(&r);
    }
    free(document);
    assert_int_equal(missing, 0);
}

// The command buffers of a session: one barrier joins two of them in a submission, where each alone would end with one
// and begin with another.
static void test_barriers_of_a_session(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc model_desc = {.directory = DEMO_MODEL};
    const vkf_session_desc desc = {.max_batch = 2, .max_source_len = 7, .max_target_len = 5, .max_logit_rows = 5};
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    // What joins layers records each group once more, as one command buffer.
    const bool joins = gpu->context->device.plan.caps.traits.joins_layers;
    assert_int_equal(vkf_model_load(gpu->context, &model_desc, &model), VKF_OK);
    fake_vulkan_reset();
    assert_int_equal(vkf_session_create(model, &desc, &session), VKF_OK);
    uint64_t recorded_barriers = fake_vulkan_calls("vkCmdPipelineBarrier"), transfers = 0, expected = 0;
    transfers = fake_vulkan_calls("vkCmdFillBuffer") + fake_vulkan_calls("vkCmdCopyBuffer");
    for (int group = 0; group < VKF_STAGES_COUNT; group++) {
        const size_t begin = session->group_begin[group], end = session->group_begin[group + 1];
        uint64_t barriers = end - begin + 1;
        for (size_t i = begin; i < end; i++) {
            const vkf__work *work = session->stages[i].work;
            const char *problem = barrier_problem(work);
            if (problem)
                fail_msg("%s: %s", session->stages[i].name, problem);
            for (uint32_t n = 0; n < work->plan.node_count; n++)
                barriers += work->built.nodes[n].barrier;
        }
        expected += barriers * (joins ? 2 : 1);
    }
    assert_int_equal(recorded_barriers - 2 * transfers, expected);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers_of_layers),      cmocka_unit_test(test_barriers_of_a_layer_object),
        cmocka_unit_test(test_barrier_problem_notices), cmocka_unit_test(test_barriers_are_documented),
        cmocka_unit_test(test_barriers_of_a_session),
    };
    return cmocka_run_group_tests_name("barriers", tests, open_counted, vkf_test_gpu_teardown);
}
