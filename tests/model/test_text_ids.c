// Tokenizer files that do not go with their model, by mistake or on purpose: what they ask for that the model has not
// is a status, wherever text becomes ids, and so is memory that runs out meanwhile.
#include <string.h>

#include "model/directory/inspection.h"
#include "model/generate/generation.h"
#include "model/session/session_results.h"
#include "support/fixture.h"
#include "support/pretrained.h"

// 101 tokens in all, as the small models have.
#define WORDS \
    "\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"rain\": 1, \"z\": 100}}"
#define WHITESPACE ", \"pre_tokenizer\": {\"type\": \"Whitespace\"}"
#define TEMPLATE(single, ids)                                                                          \
    ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single "], \"pair\": []," \
    "\"special_tokens\": {\"q\": {\"id\": \"q\", \"ids\": [" ids "], \"tokens\": [\"q\"]}}}"
#define TEXT_A(type) "{\"Sequence\": {\"id\": \"A\", \"type_id\": " #type "}}"
#define QUOTED "{\"SpecialToken\": {\"id\": \"q\", \"type_id\": 0}}"

// A small model beside a tokenizer of the test's own.
static void make_directory(vkf_test_directory *directory, const char *family, const char *rest)
{
    char json[2048];
    int length = snprintf(json, sizeof json, "{" WORDS WHITESPACE "%s}", rest);
    assert_true(length > 0 && (size_t)length < sizeof json);
    vkf_test_directory_make(directory);
    vkf_test_copy_file(directory, vkf_test_pretrained(family), "config.json");
    vkf_test_copy_file(directory, vkf_test_pretrained(family), "model.safetensors");
    vkf_test_write_file(vkf_test_path(directory, "tokenizer.json"), json, (size_t)length);
}

// ---- ids beyond the model

static const struct {
    const char *rest, *text, *named; // named: NULL where the text is read
} strangers[] = {
    {", \"padding\": {\"strategy\": \"BatchLongest\", \"pad_id\": 101}", "rain", NULL},
    {TEMPLATE(TEXT_A(0), "100, 101"), "rain", NULL}, // no template has it
    {TEMPLATE(QUOTED "," TEXT_A(0), "2147483646"), "rain", "has id 2147483646"},
    {TEMPLATE(QUOTED "," TEXT_A(0), "100, 101"), "rain", "has id 101"},
    {", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"s\", 5000], \"cls\": [\"c\", 1]}", "rain",
     "has id 5000"},
    {", \"post_processor\": {\"type\": \"RobertaProcessing\", \"sep\": [\"s\", 1], \"cls\": [\"c\", 101]}", "rain",
     "has id 101"},
};

static void check_stranger(const vkf_test_gpu *gpu, size_t i, vkf_status status)
{
    if (status != (strangers[i].named ? VKF_ERROR_FORMAT : VKF_OK))
        fail_msg("row %zu, %s: status %d, \"%s\"", i, strangers[i].text, (int)status, gpu->last_error);
    assert_true(!strangers[i].named ||
                (strstr(gpu->last_error, strangers[i].named) && strstr(gpu->last_error, "tokenizer.json")));
}

static void test_ids_beyond_the_model_matter_in_a_text_alone(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        vkf_test_directory directory;
        vkf_continuation continuation = {0};
        float vector[64];
        const vkf_text text = {strangers[i].text, strlen(strangers[i].text)};
        make_directory(&directory, "llama", strangers[i].rest);
        const vkf_generator_desc generates = {.directory = directory.path, .max_context = 16};
        const vkf_generator_args prompt = {
            .prompts = &text, .count = 1, .max_new_tokens = 1, .out_continuations = &continuation};
        vkf_generator *generator = vkf_test_make_generator(gpu, &generates);
        check_stranger(gpu, i, vkf_generator_run(generator, &prompt));
        vkf_continuation_free(&continuation);
        vkf_generator_destroy(&generator);
        vkf_test_directory_remove(&directory);
        make_directory(&directory, "bert", strangers[i].rest);
        const vkf_embedder_desc embeds = {.directory = directory.path};
        const vkf_embed_args args = {.texts = &text, .count = 1, .out_embeddings = vector};
        vkf_embedder *embedder = vkf_test_make_embedder(gpu, &embeds);
        check_stranger(gpu, i, vkf_embedder_run(embedder, &args));
        vkf_embedder_destroy(&embedder);
        vkf_test_directory_remove(&directory);
    }
}

// ---- refused with the text

static const struct {
    const char *rest, *text;
    vkf_status status;
    const char *named;
} misfits[] = {
    {"", "rain", VKF_OK, ""},
    {TEMPLATE(TEXT_A(1), ""), "rain", VKF_OK, ""},
    {TEMPLATE(TEXT_A(2), ""), "rain", VKF_ERROR_FORMAT, "'rain' with id 1, is of type 2"},
    {TEMPLATE(TEXT_A(99), ""), "rain", VKF_ERROR_FORMAT, "of type 99"},
    {"", "", VKF_ERROR_INVALID_ARGUMENT, "no tokens"},
    {TEMPLATE("", ""), "rain", VKF_ERROR_INVALID_ARGUMENT, "no tokens"},
    {TEMPLATE(QUOTED, "1"), "", VKF_OK, ""},
    {TEMPLATE(TEXT_A(0) "," TEXT_A(0), ""), "rain rain rain rain rain rain rain", VKF_ERROR_TOO_LARGE, "repeats it"},
};

static void test_texts_that_do_not_fit_the_model_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
        vkf_test_directory directory;
        float vector[64], before[64];
        make_directory(&directory, "bert", misfits[i].rest);
        const vkf_embedder_desc desc = {.directory = directory.path, .max_batch = 1, .max_tokens = 8};
        const vkf_text text = {misfits[i].text, strlen(misfits[i].text)};
        const vkf_embed_args args = {.texts = &text, .count = 1, .out_embeddings = vector};
        memset(vector, 0xa5, sizeof vector);
        memset(before, 0xa5, sizeof before);
        vkf_embedder *embedder = vkf_test_make_embedder(gpu, &desc);
        vkf_status status = vkf_embedder_run(embedder, &args);
        if (status != misfits[i].status || (status != VKF_OK && !strstr(gpu->last_error, misfits[i].named)))
            fail_msg("%s: status %d, \"%s\"", misfits[i].rest, (int)status, gpu->last_error);
        assert_int_equal(memcmp(vector, before, sizeof vector) == 0, status != VKF_OK);
        vkf_embedder_destroy(&embedder);
        vkf_test_directory_remove(&directory);
    }
}

// ---- below the public functions

// Nothing on the host is indexed by an id that nobody checked: what the public functions refuse comes to no harm here.
static void test_generation_below_its_checks_refuses_unknown_ids(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_session_desc desc = {.max_batch = 1, .max_target_len = 16, .max_beams = 2};
    const vkf_model_desc model = {.directory = vkf_test_pretrained("llama")};
    vkf_session *session = vkf_test_load_session(gpu, &model, &desc);
    const int32_t ids[] = {-1, 101, 5000, 100000000, INT32_MAX, INT32_MIN};
    for (uint32_t i = 0; i < 12; i++) {
        int32_t out[4];
        uint32_t out_length = 0, length = 1;
        const vkf_generate_args args = {.batch = 1,
                                        .prompt_ids = &ids[i % 6],
                                        .prompt_lengths = &length,
                                        .max_new_tokens = 2,
                                        .beams = {.num_beams = i < 6 ? 1 : 2, .length_penalty = 1},
                                        .out_ids = out,
                                        .out_lengths = &out_length};
        vkf_test_expect(gpu, vkf__session_generate(session, &args), VKF_ERROR_INVALID_ARGUMENT,
                        "outside the vocabulary of 101");
        bool known = i % 2 == 0;
        assert_int_equal(vkf__session_check_chosen(session, known ? (int32_t)i : ids[i % 6]),
                         known ? VKF_OK : VKF_ERROR_VULKAN);
    }
    vkf_session_destroy(&session);
}

// ---- padding, whose ids nobody looks at

enum { ROWS = 2, LEN = 5, TOKENS = 2, MOST_DIM = 128 };

static void encode_padded(vkf_session *session, int32_t padding, float *out_embeddings)
{
    const uint32_t lengths[ROWS] = {LEN, TOKENS};
    int32_t ids[ROWS * LEN] = {5, 6, 7, 8, 9, 10, 11}, types[ROWS * LEN] = {0, 1, 1, 0, 1, 1, 0};
    for (size_t i = LEN + TOKENS; i < ROWS * LEN; i++)
        ids[i] = types[i] = padding;
    const vkf_encode_args args = {.batch = ROWS,
                                  .source_len = LEN,
                                  .source_ids = ids,
                                  .source_lengths = lengths,
                                  .source_types = types,
                                  .out_embeddings = out_embeddings};
    assert_int_equal(vkf_session_encode(session, &args), VKF_OK);
}

static void decode_padded(vkf_session *session, int32_t padding, float *out_logits)
{
    const uint32_t starts[ROWS] = {0, LEN - TOKENS};
    int32_t ids[ROWS * LEN] = {5, 6, 7, 8, 9, 0, 0, 0, 10, 11};
    for (size_t i = LEN; i < ROWS * LEN - TOKENS; i++)
        ids[i] = padding;
    const vkf_decode_args args = {
        .batch = ROWS, .target_len = LEN, .target_ids = ids, .target_starts = starts, .out_logits = out_logits};
    assert_int_equal(vkf_session_decode(session, &args), VKF_OK);
}

static const struct {
    const char *family;
    void (*run)(vkf_session *session, int32_t padding, float *out);
    vkf_session_desc desc;
    size_t first; // of what comes out, in rows
} padded[] = {
    {"bert", encode_padded, {.max_batch = ROWS, .max_source_len = LEN}, 0},
    {"llama",
     decode_padded,
     {.max_batch = ROWS, .max_target_len = LEN, .max_logit_rows = LEN},
     ROWS *LEN - TOKENS}, // logits of padding mean nothing
};

static void test_padding_may_be_any_number(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const int32_t paddings[] = {0, -1, 101, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 2; i++) {
        static float out[2][ROWS * LEN * MOST_DIM];
        vkf_model *model = vkf_test_load_family(gpu, padded[i].family);
        vkf_model_config config;
        vkf_model_get_config(model, &config);
        size_t dim = padded[i].first > 0 ? config.target_vocab : config.d_model, first = padded[i].first * dim;
        size_t count = (padded[i].first > 0 ? TOKENS : ROWS) * dim;
        assert_true(dim <= MOST_DIM);
        vkf_session *session = vkf_test_make_session(gpu, model, &padded[i].desc);
        for (size_t p = 0; p < sizeof paddings / sizeof *paddings; p++) {
            padded[i].run(session, paddings[p], out[p > 0]);
            assert_memory_equal(out[p > 0] + first, out[0] + first, count * sizeof out[0][0]);
        }
        vkf_session_destroy(&session);
        vkf_model_destroy(&model);
    }
}

// ---- memory

// Allocations of the host fail one after the other while a model and its tokenizer are loaded.

// What a load ends with is made and destroyed again.
static vkf_status load_embedder(vkf_context *context, const char *directory)
{
    const vkf_embedder_desc desc = {.directory = directory, .head = strstr(directory, "classification") != NULL};
    vkf_embedder *embedder = NULL;
    vkf_status status = vkf_embedder_load(context, &desc, &embedder);
    assert_int_equal(embedder != NULL, status == VKF_OK);
    vkf_embedder_destroy(&embedder);
    return status;
}

static vkf_status load_generator(vkf_context *context, const char *directory)
{
    const vkf_generator_desc desc = {.directory = directory};
    vkf_generator *generator = NULL;
    vkf_status status = vkf_generator_load(context, &desc, &generator);
    assert_int_equal(generator != NULL, status == VKF_OK);
    vkf_generator_destroy(&generator);
    return status;
}

static vkf_status load_inspection(vkf_context *context, const char *directory)
{
    vkf__inspection inspection = {0};
    vkf_status status = vkf__inspect_model(&context->host, directory, NULL, &inspection);
    assert_true(status != VKF_OK || inspection.supported == VKF_OK);
    vkf__inspection_free(&context->host, &inspection);
    return status;
}

static const struct {
    const char *family;
    vkf_status (*load)(vkf_context *context, const char *directory);
} loads[] = {
    // Tokenizers without expressions: PCRE2 does without machine code for one when it has no memory for that.
    {"bert", load_embedder},
    {"bert-sequence-classification", load_embedder},
    {"marian", load_generator},
    {"bert", load_inspection},
};

static void fail_each_allocation(vkf_test_counted *t, size_t index)
{
    size_t call = 1;
    for (bool failed = true; failed; call++) {
        const char *directory = vkf_test_pretrained(loads[index].family);
        size_t live = t->memory.live;
        t->gpu.last_error[0] = '\0';
        counting_restart(&t->memory, call);
        vkf_status status = loads[index].load(t->gpu.context, directory);
        failed = t->memory.failed;
        bool said = status == VKF_ERROR_OUT_OF_HOST_MEMORY && t->gpu.last_error[0] != '\0';
        if (failed ? !said : status != VKF_OK)
            fail_msg("%s: allocation %zu %s, and the status is %s: %s", directory, call, failed ? "failed" : "did not",
                     vkf_status_name(status), t->gpu.last_error);
        if (t->memory.live > live)
            fail_msg("%s: allocation %zu failed, and %zu more are alive", directory, call, t->memory.live - live);
    }
    counting_restart(&t->memory, 0);
    assert_true(call > 10);
}

static void test_every_allocation_of_a_load_that_fails_is_said_to_be_that(void **state)
{
    vkf_test_counted *t = *state;
    vkf_test_gpu *gpu = vkf_test_gpu_of(state); // the fixture is the struct's first member
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        // What a context learns once, it learns here.
        assert_int_equal(loads[i].load(gpu->context, vkf_test_pretrained(loads[i].family)), VKF_OK);
        fail_each_allocation(t, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_beyond_the_model_matter_in_a_text_alone),
        cmocka_unit_test(test_texts_that_do_not_fit_the_model_are_refused),
        cmocka_unit_test(test_generation_below_its_checks_refuses_unknown_ids),
        cmocka_unit_test(test_padding_may_be_any_number),
        cmocka_unit_test_setup_teardown(test_every_allocation_of_a_load_that_fails_is_said_to_be_that,
                                        vkf_test_counted_setup, vkf_test_counted_teardown),
    };
    return cmocka_run_group_tests_name("text ids", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
