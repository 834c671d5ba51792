// Sessions: arguments and limits, no stale state, one recording for good, exact plans, and failures that leave nothing.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "support/compare.h"
#include "support/fixture.h"
#include "support/model_files.h"

#define BATCH 3u
#define SOURCE 6u
#define TARGET 5u
#define VOCAB 19u
#define LOGITS (BATCH * TARGET * VOCAB)

static const vkf_session_desc small = {
    .max_batch = BATCH,
    .max_source_len = SOURCE,
    .max_target_len = TARGET,
    .max_logit_rows = TARGET,
    .attention_weights = VKF_ATTENTION_CROSS,
};

static vkf_test_rig make_rig(void **state, const vkf_session_desc *desc)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    vkf_test_rig rig;
    vkf_test_rig_make(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, desc, &rig);
    return rig;
}

static const int32_t sources[BATCH * SOURCE] = {4, 5, 6, 7, 8, 9, 10, 11, 0, 12, 13, 14, 15, 16, 17, 18, 19, 0};
static const int32_t targets[BATCH * TARGET] = {1, 4, 5, 6, 7, 1, 8, 9, 10, 11, 1, 12, 13, 14, 15};

static vkf_status encode(vkf_session *session, uint32_t batch, uint32_t source_len)
{
    const vkf_encode_args args = {.batch = batch, .source_len = source_len, .source_ids = sources};
    return vkf_session_encode(session, &args);
}

static vkf_status decode(vkf_session *session, uint32_t target_len, float *out_logits)
{
    const vkf_decode_args args = {.target_len = target_len, .target_ids = targets, .out_logits = out_logits};
    return vkf_session_decode(session, &args);
}

static vkf_status greedy(vkf_session *session, uint32_t batch, uint32_t source_len, int32_t *out_ids)
{
    uint32_t lengths[BATCH];
    const vkf_greedy_args args = {
        .batch = batch, .source_len = source_len, .source_ids = sources, .out_ids = out_ids, .out_lengths = lengths};
    return vkf_session_greedy(session, &args);
}

#define assert_status(expression, expected) assert_string_equal(vkf_status_name(expression), vkf_status_name(expected))

// State --------------------------------------------------------------------------------------------------------------

static void test_decode_twice(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    float first[LOGITS], second[LOGITS];
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, first), VKF_OK);
    assert_status(decode(rig.session, TARGET, second), VKF_OK);
    assert_memory_equal(first, second, sizeof first);
    vkf_test_rig_free(&rig);
}

static void test_decode_after_greedy(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    float expected[LOGITS], actual[LOGITS];
    int32_t ids[BATCH * TARGET];
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, expected), VKF_OK);
    assert_status(greedy(rig.session, BATCH, SOURCE, ids), VKF_OK);
    assert_status(decode(rig.session, TARGET, actual), VKF_OK);
    // The memory's keys and values may come from the kernels of a step.
    assert_close(actual, expected, LOGITS, 1e-5, 1e-5, vkf_test_label(rig.gpu, "decode after greedy"));
    vkf_test_rig_free(&rig);
}

static void test_greedy_after_decode(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    float logits[LOGITS];
    int32_t first[BATCH * TARGET], second[BATCH * TARGET];
    assert_status(greedy(rig.session, BATCH, SOURCE, first), VKF_OK);
    assert_status(decode(rig.session, TARGET, logits), VKF_OK);
    assert_status(greedy(rig.session, BATCH, SOURCE, second), VKF_OK);
    assert_memory_equal(first, second, sizeof first);
    vkf_test_rig_free(&rig);
}

// A session that has run other sizes gives the very bits that a new one gives.
static void test_encode_again_with_other_sizes(void **state)
{
    static const uint32_t runs[][3] = {
        {BATCH, SOURCE, TARGET}, {1, 2, 1}, {2, SOURCE, 3}, {BATCH, 1, TARGET}, {1, 6, 4},
    };
    vkf_test_rig rig = make_rig(state, &small);
    float used[LOGITS], fresh[LOGITS];
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        size_t count = (size_t)runs[i][0] * runs[i][2] * VOCAB;
        vkf_session *session = vkf_test_make_session(rig.gpu, rig.model, &small);
        assert_status(encode(rig.session, runs[i][0], runs[i][1]), VKF_OK);
        assert_status(decode(rig.session, runs[i][2], used), VKF_OK);
        assert_status(encode(session, runs[i][0], runs[i][1]), VKF_OK);
        assert_status(decode(session, runs[i][2], fresh), VKF_OK);
        assert_memory_equal(used, fresh, count * sizeof *used);
        vkf_session_destroy(&session);
    }
    vkf_test_rig_free(&rig);
}

static void test_larger_maximum_sizes_give_the_same(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    vkf_session_desc larger = small;
    float expected[LOGITS], actual[LOGITS];
    larger.max_batch = 9;
    larger.max_source_len = 70;
    larger.max_target_len = 33;
    larger.max_logit_rows = 33;
    vkf_session *session = vkf_test_make_session(rig.gpu, rig.model, &larger);
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, expected), VKF_OK);
    assert_status(encode(session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(session, TARGET, actual), VKF_OK);
    assert_close(actual, expected, LOGITS, 1e-5, 1e-5, vkf_test_label(rig.gpu, "larger maximum sizes"));
    vkf_session_destroy(&session);
    vkf_test_rig_free(&rig);
}

static void test_two_sessions_of_one_model(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    float expected[LOGITS], actual[LOGITS];
    vkf_session *other = vkf_test_make_session(rig.gpu, rig.model, &small);
    assert_status(encode(rig.session, 2, 3), VKF_OK);
    assert_status(decode(rig.session, 4, expected), VKF_OK);
    assert_status(encode(other, BATCH, SOURCE), VKF_OK);
    assert_status(decode(other, TARGET, actual), VKF_OK);
    assert_status(decode(rig.session, 4, actual), VKF_OK);
    assert_memory_equal(actual, expected, 2 * 4 * VOCAB * sizeof *actual);
    vkf_session_destroy(&other);
    vkf_test_rig_free(&rig);
}

static void run_all_sizes(vkf_session *session)
{
    float logits[LOGITS];
    int32_t ids[BATCH * TARGET];
    for (uint32_t i = 0; i < 12; i++) {
        assert_status(encode(session, 1 + i % BATCH, 1 + i % SOURCE), VKF_OK);
        assert_status(decode(session, 1 + i % TARGET, logits), VKF_OK);
        assert_status(greedy(session, 1 + i % BATCH, 1 + i % SOURCE, ids), VKF_OK);
    }
}

// Where runs are told apart by their rows, a class is recorded when the first run of it comes, and none once more.
static void test_record_count_stays(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    const vkf__traits *traits = &rig.gpu->context->device.plan.caps.traits;
    uint32_t buffers = vkf_session_get_command_buffer_count(rig.session);
    // Embedding and head besides two layers each: of the encoder, and twice of the decoder.
    assert_int_equal(buffers, 12);
    if (traits->rows_by_class || traits->runs_ahead) {
        run_all_sizes(rig.session);
        buffers = vkf_session_get_command_buffer_count(rig.session);
        assert_true(buffers > 12);
    }
    run_all_sizes(rig.session);
    assert_int_equal(vkf_session_get_record_count(rig.session), buffers);
    assert_int_equal(vkf_session_get_command_buffer_count(rig.session), buffers);
    vkf_test_rig_free(&rig);
}

// Weights of the last run only: an encode makes those of the run before it unreadable.
static void test_attention_before_and_after_runs(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    float logits[LOGITS], weights[4 * TARGET * SOURCE];
    assert_status(encode(rig.session, 1, 2), VKF_OK);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 0, 0, 1, weights),
                  VKF_ERROR_INVALID_ARGUMENT);
    assert_status(decode(rig.session, 3, logits), VKF_OK);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 0, 3, weights), VKF_OK);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 0, 4, weights),
                  VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 1, 3, weights),
                  VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 2, 0, 3, weights),
                  VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 0, 3, NULL),
                  VKF_ERROR_INVALID_ARGUMENT);
    uint32_t shape[2] = {0};
    assert_status(vkf_session_get_attention_shape(rig.session, VKF_ATTENTION_CROSS, 3, &shape[0], &shape[1]), VKF_OK);
    assert_int_equal(shape[0], vkf_test_small_seq2seq().num_heads);
    assert_int_equal(shape[1], 2);
    assert_status(vkf_session_get_attention_shape(rig.session, VKF_ATTENTION_CROSS, 4, &shape[0], &shape[1]),
                  VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_get_attention_shape(rig.session, VKF_ATTENTION_ENCODER, 1, &shape[0], &shape[1]),
                  VKF_ERROR_INVALID_ARGUMENT);
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 1, 2, 3, weights),
                  VKF_ERROR_INVALID_ARGUMENT);
    vkf_test_rig_free(&rig);
}

// Arguments ----------------------------------------------------------------------------------------------------------

static void test_encode_with_wrong_arguments(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    int32_t ids[BATCH * SOURCE] = {0};
    vkf_encode_args args = {.batch = BATCH, .source_len = SOURCE};
    assert_status(vkf_session_encode(NULL, &args), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_encode(rig.session, NULL), VKF_ERROR_INVALID_ARGUMENT);
    vkf_test_expect(rig.gpu, vkf_session_encode(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT, "source_ids");
    args.source_ids = ids;
    ids[BATCH * SOURCE - 1] = 23; // one past the source vocabulary
    vkf_test_expect(rig.gpu, vkf_session_encode(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT,
                    "token id 23 at place 17");
    ids[BATCH * SOURCE - 1] = -1;
    assert_status(vkf_session_encode(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(encode(rig.session, 0, SOURCE), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(encode(rig.session, BATCH, 0), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(encode(rig.session, BATCH + 1, SOURCE), VKF_ERROR_TOO_LARGE);
    assert_status(encode(rig.session, 1, SOURCE + 1), VKF_ERROR_TOO_LARGE);
    assert_status(encode(rig.session, UINT32_MAX, UINT32_MAX), VKF_ERROR_TOO_LARGE);
    vkf_test_rig_free(&rig);
}

static void test_decode_with_wrong_arguments(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    float logits[LOGITS] = {42};
    int32_t ids[BATCH * TARGET] = {0};
    vkf_decode_args args = {.target_len = TARGET, .out_logits = logits};
    vkf_test_expect(rig.gpu, decode(rig.session, TARGET, logits), VKF_ERROR_INVALID_ARGUMENT, "vkf_session_encode");
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(vkf_session_decode(NULL, &args), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_decode(rig.session, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_decode(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    args.target_ids = ids;
    ids[7] = VOCAB;
    vkf_test_expect(rig.gpu, vkf_session_decode(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT,
                    "token id 19 at place 7");
    args.batch = BATCH - 1;
    vkf_test_expect(rig.gpu, vkf_session_decode(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT,
                    "batch is 2, and vkf_session_encode() had 3 rows");
    assert_status(decode(rig.session, 0, logits), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(decode(rig.session, TARGET + 1, NULL), VKF_ERROR_TOO_LARGE);
    assert_true(logits[0] == 42);
    assert_status(decode(rig.session, TARGET, logits), VKF_OK);
    vkf_test_rig_free(&rig);
}

static void test_decode_with_fewer_logit_rows(void **state)
{
    vkf_session_desc desc = small;
    desc.max_logit_rows = 2;
    vkf_test_rig rig = make_rig(state, &desc);
    float logits[LOGITS], hidden[BATCH * TARGET * 32];
    const vkf_decode_args args = {.target_len = TARGET, .target_ids = targets, .out_hidden = hidden};
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, 2, logits), VKF_OK);
    assert_status(decode(rig.session, 3, logits), VKF_ERROR_TOO_LARGE);
    assert_status(vkf_session_decode(rig.session, &args), VKF_OK);
    vkf_test_rig_free(&rig);
}

static void test_session_of_steps_alone(void **state)
{
    vkf_session_desc desc = small;
    desc.max_logit_rows = 0; // for generation alone
    desc.attention_weights = 0;
    vkf_test_rig rig = make_rig(state, &desc);
    int32_t ids[BATCH * TARGET];
    float logits[LOGITS];
    assert_int_equal(vkf_session_get_command_buffer_count(rig.session), 8);
    assert_status(greedy(rig.session, BATCH, SOURCE, ids), VKF_OK);
    vkf_test_expect(rig.gpu, decode(rig.session, 1, logits), VKF_ERROR_INVALID_ARGUMENT, "max_logit_rows");
    vkf_test_expect(rig.gpu, vkf_session_get_attention(rig.session, VKF_ATTENTION_CROSS, 0, 0, 1, logits),
                    VKF_ERROR_INVALID_ARGUMENT, "attention_weights");
    vkf_test_rig_free(&rig);
}

static void test_session_without_room_for_a_token(void **state)
{
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = SOURCE, .max_target_len = 1, .max_logit_rows = 1};
    vkf_test_rig rig = make_rig(state, &desc);
    int32_t ids[TARGET];
    float logits[VOCAB];
    vkf_test_expect(rig.gpu, greedy(rig.session, 1, SOURCE, ids), VKF_ERROR_INVALID_ARGUMENT, "max_target_len");
    assert_status(encode(rig.session, 1, SOURCE), VKF_OK);
    assert_status(decode(rig.session, 1, logits), VKF_OK);
    vkf_test_rig_free(&rig);
}

static void test_greedy_with_wrong_arguments(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    int32_t ids[BATCH * TARGET];
    uint32_t lengths[BATCH];
    const vkf_greedy_args good = {
        .batch = BATCH, .source_len = SOURCE, .source_ids = sources, .out_ids = ids, .out_lengths = lengths};
    vkf_greedy_args args = good;
    assert_status(vkf_session_greedy(NULL, &good), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_greedy(rig.session, NULL), VKF_ERROR_INVALID_ARGUMENT);
    args.source_ids = NULL;
    assert_status(vkf_session_greedy(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    args = good;
    args.out_ids = NULL;
    assert_status(vkf_session_greedy(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    args = good;
    args.out_lengths = NULL;
    assert_status(vkf_session_greedy(rig.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    args = good;
    args.max_len = TARGET + 1;
    assert_status(vkf_session_greedy(rig.session, &args), VKF_ERROR_TOO_LARGE);
    args = good;
    args.batch = BATCH + 1;
    assert_status(vkf_session_greedy(rig.session, &args), VKF_ERROR_TOO_LARGE);
    assert_status(vkf_session_greedy(rig.session, &good), VKF_OK);
    vkf_test_rig_free(&rig);
}

static const vkf_model_config transformer = {
    .kind = VKF_MODEL_TRANSFORMER,
    .d_model = 8,
    .num_heads = 2,
    .dim_feedforward = 8,
    .num_encoder_layers = 1,
    .num_decoder_layers = 1,
    .activation = VKF_ACTIVATION_RELU,
    .layer_norm_eps = 1e-5f,
};

static void test_transformer_with_wrong_arguments(void **state)
{
    vkf_session_desc desc = {.max_batch = 1, .max_source_len = 2, .max_target_len = 2};
    float x[2 * 8] = {0};
    int32_t ids[2] = {0};
    uint32_t lengths[1];
    vkf_test_rig rig;
    desc.source_mask.key_kind = desc.memory_mask.kind = VKF_MASK_BOOL_EXCLUDE;
    vkf_test_rig_make(vkf_test_gpu_of(state), &transformer, VKF_DTYPE_F32, &desc, &rig);
    vkf_encode_args encoded = {.batch = 1, .source_len = 2, .source = x};
    vkf_decode_args decoded = {.target_len = 2, .target = x};
    const vkf_greedy_args generated = {
        .batch = 1, .source_len = 2, .source_ids = ids, .out_ids = ids, .out_lengths = lengths};
    assert_status(vkf_session_encode(rig.session, &encoded), VKF_ERROR_INVALID_ARGUMENT); // no mask
    encoded.source_key_mask = ids;
    encoded.source = NULL;
    assert_status(vkf_session_encode(rig.session, &encoded), VKF_ERROR_INVALID_ARGUMENT);
    encoded.source = x;
    assert_status(vkf_session_encode(rig.session, &encoded), VKF_OK);
    assert_status(vkf_session_decode(rig.session, &decoded), VKF_ERROR_INVALID_ARGUMENT); // no mask
    decoded.memory_mask = x;
    decoded.out_logits = x;
    assert_status(vkf_session_decode(rig.session, &decoded), VKF_ERROR_INVALID_ARGUMENT); // no logits
    assert_status(vkf_session_greedy(rig.session, &generated), VKF_ERROR_INVALID_ARGUMENT);
    decoded.out_logits = NULL;
    assert_status(vkf_session_decode(rig.session, &decoded), VKF_OK);
    vkf_test_rig_free(&rig);
}

static void test_create_with_wrong_arguments(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    vkf_session *untouched = rig.session, *out = untouched;
    vkf_memory_plan plan;
    vkf_session_desc descs[8];
    for (size_t i = 0; i < 8; i++)
        descs[i] = small;
    descs[0].max_batch = 0;
    descs[1].max_source_len = 0;
    descs[2].max_target_len = 0;
    descs[3].max_target_len = 1; // neither a token to generate nor logits to return
    descs[3].max_logit_rows = 0;
    descs[4].max_logit_rows = TARGET + 1;
    descs[5].fully_masked = VKF_FULLY_MASKED_COUNT;
    descs[6].target_mask.key_kind = VKF_MASK_KIND_COUNT;
    descs[7].max_logit_rows = UINT32_MAX;
    for (size_t i = 0; i < 8; i++) {
        assert_status(vkf_session_create(rig.model, &descs[i], &out), VKF_ERROR_INVALID_ARGUMENT);
        assert_status(vkf_session_plan(rig.model, &descs[i], &plan), VKF_ERROR_INVALID_ARGUMENT);
    }
    assert_status(vkf_session_create(NULL, &small, &out), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_create(rig.model, NULL, &out), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_create(rig.model, &small, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_status(vkf_session_plan(rig.model, &small, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_ptr_equal(out, untouched);
    vkf_session_destroy(NULL);
    out = NULL;
    vkf_session_destroy(&out);
    vkf_test_rig_free(&rig);
}

// Memory -------------------------------------------------------------------------------------------------------------

static void assert_same_usage(vkf_test_gpu *gpu, const vkf_memory_usage *before)
{
    const vkf_memory_usage now = vkf_test_usage(gpu);
    for (uint32_t i = 0; i < now.heap_count; i++)
        assert_int_equal(now.used_bytes[i], before->used_bytes[i]);
}

// None of these sizes exists on any device; each goes wrong at another place.
static void test_create_with_absurd_sizes(void **state)
{
    static const uint32_t sizes[][3] = {
        {UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {UINT32_MAX, 1, 2},
        {1, UINT32_MAX, 2},
        {1, 1, UINT32_MAX},
        {1, 1u << 30, 2},
        {1, 2, 1u << 30},
        {65535, 65535, 2},
        {0x55555555, 1, 2},
        {0x10000, 0x10000, 2},
        {1u << 30, 1, 2},
        {1, 1u << 16, 1u << 15},
        {3, 1u << 29, 1u << 29},
    };
    vkf_test_rig rig = make_rig(state, &small);
    const vkf_test_counted *f = *state;
    const vkf_memory_usage before = vkf_test_usage(rig.gpu);
    size_t live = f->memory.live;
    vkf_memory_plan plan;
    vkf_session *session = NULL;
    float logits[LOGITS];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const vkf_session_desc desc = {
            .max_batch = sizes[i][0],
            .max_source_len = sizes[i][1],
            .max_target_len = sizes[i][2],
            .max_logit_rows = 2, // more than a step: the decoder is made for whole targets
            .attention_weights = i % 2 == 0 ? VKF_ATTENTION_CROSS | VKF_ATTENTION_ENCODER | VKF_ATTENTION_DECODER : 0,
        };
        vkf_status planned = vkf_session_plan(rig.model, &desc, &plan);
        vkf_status created = vkf_session_create(rig.model, &desc, &session);
        if (created != VKF_ERROR_TOO_LARGE && created != VKF_ERROR_OUT_OF_DEVICE_MEMORY)
            fail_msg("%u x %u x %u: %s", sizes[i][0], sizes[i][1], sizes[i][2], vkf_status_name(created));
        assert_true(planned == VKF_OK || planned == VKF_ERROR_TOO_LARGE);
        assert_null(session);
        assert_int_equal(f->memory.live, live);
        assert_same_usage(rig.gpu, &before);
    }
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, logits), VKF_OK);
    vkf_test_rig_free(&rig);
}

static void assert_planned(vkf_test_gpu *gpu, const vkf_memory_plan *plan, const vkf_memory_usage *before)
{
    uint64_t heaps = 0;
    vkf_test_assert_took(gpu, before, plan);
    for (uint32_t i = 0; i < plan->heap_count; i++)
        heaps += plan->heap_bytes[i];
    assert_true(heaps > 0);
    assert_int_equal(plan->weights_bytes + plan->activations_bytes + plan->cache_bytes + plan->control_bytes +
                         plan->staging_bytes,
                     heaps);
}

static void check_session_plan(vkf_test_rig *rig, const vkf_session_desc *desc)
{
    vkf_memory_plan plan;
    const vkf_memory_usage before = vkf_test_usage(rig->gpu);
    assert_status(vkf_session_plan(rig->model, desc, &plan), VKF_OK);
    assert_same_usage(rig->gpu, &before);
    vkf_session *session = vkf_test_make_session(rig->gpu, rig->model, desc);
    assert_planned(rig->gpu, &plan, &before);
    vkf_session_destroy(&session);
    assert_same_usage(rig->gpu, &before);
}

static void test_plan_is_what_create_allocates(void **state)
{
    const vkf_session_desc steps = {.max_batch = 1, .max_source_len = 1, .max_target_len = 2};
    const vkf_session_desc large = {.max_batch = 17, .max_source_len = 65, .max_target_len = 33, .max_logit_rows = 9};
    const vkf_session_desc masked = {
        .max_batch = 5,
        .max_source_len = 13,
        .max_target_len = 7,
        .source_mask = {.kind = VKF_MASK_ADDITIVE, .per_head = true, .key_kind = VKF_MASK_LENGTHS},
        .target_mask = {.kind = VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_ADDITIVE},
        .memory_mask = {.key_kind = VKF_MASK_BOOL_ATTEND},
        .attention_weights = VKF_ATTENTION_CROSS,
    };
    const vkf_model_config seq2seq = vkf_test_small_seq2seq();
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_rig rig = make_rig(state, &small);
    check_session_plan(&rig, &small);
    check_session_plan(&rig, &steps);
    check_session_plan(&rig, &large);
    vkf_test_rig_free(&rig);
    vkf_test_rig_make(gpu, &seq2seq, VKF_DTYPE_F16, &small, &rig);
    check_session_plan(&rig, &large);
    vkf_test_rig_free(&rig);
    vkf_test_rig_make(gpu, &transformer, VKF_DTYPE_F32, &masked, &rig);
    check_session_plan(&rig, &masked);
    vkf_test_rig_free(&rig);
}

static void test_runs_keep_host_and_device_memory(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    const vkf_test_counted *f = *state;
    float logits[LOGITS];
    int32_t ids[BATCH * TARGET];
    const vkf_memory_usage before = vkf_test_usage(rig.gpu);
    // What a class of rows records takes host memory when the first run of it comes.
    run_all_sizes(rig.session);
    size_t live = f->memory.live;
    assert_status(greedy(rig.session, BATCH, SOURCE, ids), VKF_OK);
    assert_status(encode(rig.session, 2, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, logits), VKF_OK);
    assert_int_equal(f->memory.live, live);
    assert_same_usage(rig.gpu, &before);
    vkf_test_rig_free(&rig);
}

// Failures -----------------------------------------------------------------------------------------------------------

// Each allocation of host memory fails in turn.
static void test_create_out_of_host_memory(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    vkf_test_counted *f = *state;
    const vkf_memory_usage before = vkf_test_usage(rig.gpu);
    size_t live = f->memory.live;
    vkf_session *session = NULL;
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (f->memory.fail_call = 1; status != VKF_OK; f->memory.fail_call++) {
        f->memory.calls = 0;
        status = vkf_session_create(rig.model, &small, &session);
        if (status == VKF_OK)
            break;
        assert_status(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_null(session);
        assert_int_equal(f->memory.live, live);
        assert_same_usage(rig.gpu, &before);
    }
    assert_true(f->memory.fail_call > 20);
    f->memory.fail_call = 0;
    vkf_session_destroy(&session);
    vkf_test_rig_free(&rig);
}

// What fails while tokens are generated leaves the caller's arrays alone, and the session as good as before.
static void test_greedy_out_of_host_memory(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    vkf_test_counted *f = *state;
    int32_t expected[BATCH * TARGET], ids[BATCH * TARGET], untouched[BATCH * TARGET];
    assert_status(greedy(rig.session, BATCH, SOURCE, expected), VKF_OK);
    memset(untouched, 0xee, sizeof untouched);
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (f->memory.fail_call = 1; status != VKF_OK; f->memory.fail_call++) {
        f->memory.calls = 0;
        memset(ids, 0xee, sizeof ids);
        status = greedy(rig.session, BATCH, SOURCE, ids);
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_memory_equal(ids, status == VKF_OK ? expected : untouched, sizeof ids);
    }
    assert_true(f->memory.fail_call > 3);
    f->memory.fail_call = 0;
    vkf_test_rig_free(&rig);
}

typedef struct stop {
    uint32_t after;
    uint32_t calls;
} stop;

static bool stop_after(void *user, uint32_t done, uint32_t total, const char *what)
{
    stop *s = user;
    (void)done;
    (void)total;
    (void)what;
    return s->calls++ < s->after;
}

static void test_greedy_cancelled(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    int32_t expected[BATCH * TARGET], ids[BATCH * TARGET], untouched[BATCH * TARGET];
    uint32_t lengths[BATCH];
    float logits[LOGITS];
    assert_status(greedy(rig.session, BATCH, SOURCE, expected), VKF_OK);
    memset(untouched, 0xee, sizeof untouched);
    for (uint32_t after = 0; after < 3; after++) {
        stop s = {.after = after};
        const vkf_greedy_args args = {.batch = BATCH,
                                      .source_len = SOURCE,
                                      .source_ids = sources,
                                      .out_ids = ids,
                                      .out_lengths = lengths,
                                      .progress = stop_after,
                                      .progress_user = &s};
        memset(ids, 0xee, sizeof ids);
        memset(lengths, 0xee, sizeof lengths);
        assert_status(vkf_session_greedy(rig.session, &args), VKF_ERROR_CANCELLED);
        assert_int_equal(s.calls, after + 1);
        assert_memory_equal(ids, untouched, sizeof ids);
        assert_memory_equal(lengths, untouched, sizeof lengths);
        assert_status(greedy(rig.session, BATCH, SOURCE, ids), VKF_OK);
        assert_memory_equal(ids, expected, sizeof ids);
        assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
        assert_status(decode(rig.session, TARGET, logits), VKF_OK);
    }
    vkf_test_rig_free(&rig);
}

static VKAPI_ATTR VkResult VKAPI_CALL failing_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                     VkFence fence)
{
    (void)queue;
    (void)count;
    (void)infos;
    (void)fence;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

static void test_runs_with_a_failing_queue(void **state)
{
    vkf_test_rig rig = make_rig(state, &small);
    vkf__device *device = &rig.gpu->context->device;
    const PFN_vkQueueSubmit submit = device->vk.vkQueueSubmit;
    int32_t ids[BATCH * TARGET] = {77};
    float logits[LOGITS] = {77}, expected[LOGITS];
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, expected), VKF_OK);
    device->vk.vkQueueSubmit = failing_submit;
    vkf_status decoded = decode(rig.session, TARGET, logits);
    vkf_status generated = greedy(rig.session, BATCH, SOURCE, ids);
    vkf_status orphaned = decode(rig.session, TARGET, logits);
    device->vk.vkQueueSubmit = submit;
    assert_status(decoded, VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_status(generated, VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_status(orphaned, VKF_ERROR_INVALID_ARGUMENT); // the encoder did not run: there is no memory
    assert_int_equal(ids[0], 77);
    assert_true(logits[0] == 77);
    assert_status(encode(rig.session, BATCH, SOURCE), VKF_OK);
    assert_status(decode(rig.session, TARGET, logits), VKF_OK);
    assert_memory_equal(logits, expected, sizeof logits);
    vkf_test_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_twice),
        cmocka_unit_test(test_decode_after_greedy),
        cmocka_unit_test(test_greedy_after_decode),
        cmocka_unit_test(test_encode_again_with_other_sizes),
        cmocka_unit_test(test_larger_maximum_sizes_give_the_same),
        cmocka_unit_test(test_two_sessions_of_one_model),
        cmocka_unit_test(test_record_count_stays),
        cmocka_unit_test(test_attention_before_and_after_runs),
        cmocka_unit_test(test_encode_with_wrong_arguments),
        cmocka_unit_test(test_decode_with_wrong_arguments),
        cmocka_unit_test(test_decode_with_fewer_logit_rows),
        cmocka_unit_test(test_session_of_steps_alone),
        cmocka_unit_test(test_session_without_room_for_a_token),
        cmocka_unit_test(test_greedy_with_wrong_arguments),
        cmocka_unit_test(test_transformer_with_wrong_arguments),
        cmocka_unit_test(test_create_with_wrong_arguments),
        cmocka_unit_test(test_create_with_absurd_sizes),
        cmocka_unit_test(test_plan_is_what_create_allocates),
        cmocka_unit_test(test_runs_keep_host_and_device_memory),
        cmocka_unit_test(test_create_out_of_host_memory),
        cmocka_unit_test(test_greedy_out_of_host_memory),
        cmocka_unit_test(test_greedy_cancelled),
        cmocka_unit_test(test_runs_with_a_failing_queue),
    };
    return cmocka_run_group_tests_name("session", tests, vkf_test_counted_setup, vkf_test_counted_teardown);
}
