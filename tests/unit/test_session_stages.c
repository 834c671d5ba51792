// Which stages a session of each kind of model has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/session/session_stages.h"

#include "recording_host.h"

typedef struct expectation {
    vkf_model_config config;
    vkf_session_desc desc;
    const char *stages; // groups divided by bars
} expectation;

static void check_stages(const expectation *e, vkf__layer_part part)
{
    recording_host recording;
    vkf_context context = {0};
    vkf_model model = {.context = &context, .config = e->config, .part = part};
    vkf_session session = {.model = &model, .context = &context, .desc = e->desc};
    char names[512] = "";
    recording_host_init(&recording);
    context.host = recording.host;
    assert_int_equal(vkf__session_make_stages(&session), VKF_OK);
    for (int group = 0; group < VKF_STAGES_COUNT; group++) {
        for (size_t i = session.group_begin[group]; i < session.group_begin[group + 1]; i++) {
            assert_int_equal(session.stages[i].group, group);
            assert_true(session.stages[i].emit != NULL);
            (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", session.stages[i].name);
        }
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s", group < VKF_STAGES_STEP ? "| " : "");
    }
    assert_string_equal(names, e->stages);
    vkf__free(&context.host, session.stages);
    assert_int_equal(recording.live, 0);
}

#define LAYERS(encoder, decoder) .num_encoder_layers = (encoder), .num_decoder_layers = (decoder)

static void test_make_stages_by_kind(void **state)
{
    static const expectation expectations[] = {
        {{.kind = VKF_MODEL_TRANSFORMER, LAYERS(2, 1), .final_norm = true},
         {.max_target_len = 4, .max_logit_rows = 4},
         "encoder.0 encoder.1 encoder.head | decoder.0 decoder.head | "},
        {{.kind = VKF_MODEL_SEQ2SEQ, LAYERS(1, 1), .final_norm = true},
         {.max_target_len = 4, .max_logit_rows = 4},
         "encoder.embed encoder.0 encoder.head | decoder.embed decoder.0 decoder.head | "
         "step.embed step.0 step.head "},
        {{.kind = VKF_MODEL_ENCODER, LAYERS(1, 0)}, {.max_target_len = 1}, "encoder.embed encoder.0 encoder.head | | "},
        {{.kind = VKF_MODEL_DECODER, LAYERS(0, 1)},
         {.max_target_len = 4},
         "| decoder.embed decoder.0 decoder.head | step.embed step.0 step.head "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
        check_stages(&expectations[i], (vkf__layer_part){0});
}

// An encoder-decoder of two and three layers. Its positions are biases, which a step needs in every part.
static void test_make_stages_of_a_part(void **state)
{
#define CONFIG(encoder, decoder)                                                                       \
    {                                                                                                  \
        .kind = VKF_MODEL_SEQ2SEQ, LAYERS(encoder, decoder), .final_norm = true, .relative_buckets = 4 \
    }
    static const struct {
        uint32_t first, count;
        expectation has;
    } parts[] = {
        {0, 1, {CONFIG(1, 0), {.max_target_len = 4}, "encoder.embed encoder.0 | | "}},
        {0, 2, {CONFIG(2, 0), {.max_target_len = 4}, "encoder.embed encoder.0 encoder.1 encoder.head | | "}},
        {1, 2, {CONFIG(1, 1), {.max_target_len = 4}, "encoder.1 encoder.head | | step.embed step.0 "}},
        {3, 1, {CONFIG(0, 1), {.max_target_len = 4}, "| | step.bias step.1 "}},
        {3, 2, {CONFIG(0, 2), {.max_target_len = 4}, "| | step.bias step.1 step.2 step.head "}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        check_stages(&parts[i].has, (vkf__layer_part){parts[i].first, parts[i].count, 2, 5, .link = {0}});
}

static void test_make_stages_of_what_there_is(void **state)
{
    static const expectation expectations[] = {
        // The encoder ends with its last layer, and nobody asks for logits.
        {{.kind = VKF_MODEL_SEQ2SEQ, LAYERS(1, 1)},
         {.max_target_len = 4},
         "encoder.embed encoder.0 | | step.embed step.0 step.head "},
        // Nothing is generated behind a single position.
        {{.kind = VKF_MODEL_DECODER, LAYERS(0, 1)}, {.max_target_len = 1}, "| decoder.embed decoder.0 decoder.head | "},
        // A stack without layers hands its input on.
        {{.kind = VKF_MODEL_TRANSFORMER, LAYERS(0, 1), .final_norm = true},
         {.max_target_len = 4},
         "| decoder.0 decoder.head | "},
        {{.kind = VKF_MODEL_SEQ2SEQ, LAYERS(1, 0), .final_norm = true},
         {.max_target_len = 4, .max_logit_rows = 4},
         "encoder.embed encoder.0 encoder.head | | "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
        check_stages(&expectations[i], (vkf__layer_part){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make_stages_by_kind),
        cmocka_unit_test(test_make_stages_of_a_part),
        cmocka_unit_test(test_make_stages_of_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
