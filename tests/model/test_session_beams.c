// Beam search over caches against the same search over whole prefixes, which has no caches that could go wrong: the
// positions, rows and words of what moves. What the search itself decides is test_beam_search.c's business.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/generate/beam_search.h"
#include "support/fixture.h"
#include "support/model_files.h"

#define BATCH 3u
#define SOURCE 8u
#define BEAMS 4u
#define NEW 10u
#define MAX_VOCAB 24u

// An odd length, so that with an odd width a row is no whole number of words in f16.
static const vkf_session_desc beam_desc = {
    .max_batch = BATCH,
    .max_source_len = SOURCE,
    .max_target_len = NEW + 1,
    .max_beams = BEAMS,
};
static const vkf_session_desc whole_desc = {
    .max_batch = BEAMS,
    .max_source_len = SOURCE,
    .max_target_len = NEW + 1,
    .max_logit_rows = NEW + 1,
};
static const uint32_t lengths[BATCH] = {SOURCE, 3, 5};

typedef struct searched {
    int32_t ids[NEW];
    uint32_t length;
    double score;
} searched;

// The log-probabilities of what follows prefixes of bos and `made` tokens, each row in descending order.
static void rank(const vkf_model_config *config, const float *logits, uint32_t made, uint32_t row,
                 vkf__beam_candidate *out)
{
    const float *last = logits + ((size_t)row * (made + 1) + made) * config->target_vocab;
    double sum = 0;
    for (uint32_t i = 0; i < config->target_vocab; i++)
        sum += exp((double)last[i]);
    for (uint32_t i = 0; i < config->target_vocab; i++) {
        vkf__beam_candidate candidate = {
            .token = (int32_t)i, .score = (float)((double)last[i] - log(sum)), .ends = (int32_t)i == config->eos_id};
        uint32_t at = i;
        for (; at > 0 && out[at - 1].score < candidate.score; at--)
            out[at] = out[at - 1];
        out[at] = candidate;
    }
}

static void decode_prefixes(vkf_session *session, const vkf_model_config *config, const vkf__beam_search *search,
                            float *out_logits)
{
    int32_t ids[BEAMS * (NEW + 1)];
    uint32_t made = search->length;
    for (uint32_t b = 0; b < BEAMS; b++) {
        ids[b * (made + 1)] = config->bos_id;
        memcpy(ids + b * (made + 1) + 1, search->running.tokens + (size_t)b * NEW, made * sizeof *ids);
    }
    const vkf_decode_args args = {.target_len = made + 1, .target_ids = ids, .out_logits = out_logits};
    assert_int_equal(vkf_session_decode(session, &args), VKF_OK);
}

static searched search_prefixes(vkf_session *session, const vkf_model_config *config, const int32_t *source,
                                uint32_t length, const vkf_beam_search *beams)
{
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_WARNING), VKF_OK);
    vkf__beam_search search = {0};
    int32_t sources[BEAMS * SOURCE];
    for (uint32_t b = 0; b < BEAMS; b++)
        memcpy(sources + b * length, source, length * sizeof *source);
    const vkf_encode_args encode = {.batch = BEAMS, .source_len = length, .source_ids = sources};
    assert_int_equal(vkf_session_encode(session, &encode), VKF_OK);
    assert_int_equal(vkf__beam_search_make(&host, beams, NEW, 1, &search), VKF_OK);
    while (!search.done) {
        float logits[BEAMS * (NEW + 1) * MAX_VOCAB];
        vkf__beam_candidate tops[BEAMS * MAX_VOCAB];
        uint32_t counts[BEAMS], chosen[BEAMS];
        decode_prefixes(session, config, &search, logits);
        for (uint32_t b = 0; b < BEAMS; b++) {
            rank(config, logits, search.length, b, tops + (size_t)b * config->target_vocab);
            counts[b] = config->target_vocab;
        }
        vkf__beam_search_gather(&search, tops, config->target_vocab, counts);
        vkf__beam_search_advance(&search, chosen);
    }
    searched out = {.length = search.kept.lengths[0], .score = (double)search.kept.scores[0]};
    memcpy(out.ids, search.kept.tokens, out.length * sizeof out.ids[0]);
    vkf__beam_search_free(&host, &search);
    return out;
}

// What a sequence's score is, from one run over it.
static double score_of(vkf_session *session, const vkf_model_config *config, const int32_t *ids, uint32_t length,
                       float length_penalty)
{
    int32_t prefix[BEAMS * NEW];
    float logits[BEAMS * NEW * MAX_VOCAB];
    double score = 0;
    for (uint32_t b = 0; b < BEAMS; b++) {
        prefix[b * length] = config->bos_id;
        memcpy(prefix + b * length + 1, ids, (length - 1) * sizeof *ids);
    }
    const vkf_decode_args args = {.target_len = length, .target_ids = prefix, .out_logits = logits};
    assert_int_equal(vkf_session_decode(session, &args), VKF_OK);
    for (uint32_t t = 0; t < length; t++) {
        double sum = 0;
        for (uint32_t i = 0; i < config->target_vocab; i++)
            sum += exp((double)logits[t * config->target_vocab + i]);
        score += (double)logits[t * config->target_vocab + (uint32_t)ids[t]] - log(sum);
    }
    return score / pow(length, (double)length_penalty);
}

static void generate(vkf_test_gpu *gpu, vkf_session *session, const int32_t *sources, const vkf_beam_search *beams,
                     int32_t *out_ids, uint32_t *out_lengths)
{
    const vkf_generate_args args = {
        .batch = BATCH,
        .prompt_ids = sources,
        .prompt_lengths = lengths,
        .max_new_tokens = NEW,
        .beams = *beams,
        .out_ids = out_ids,
        .out_lengths = out_lengths,
    };
    if (vkf_session_generate(session, &args) != VKF_OK)
        fail_msg("%s", gpu->last_error);
}

// In halves two sequences may be so near each other that the order of sums decides: there scores are compared.
static void check_row(vkf_test_rig *rig, const searched *expected, const int32_t *ids, uint32_t length,
                      const vkf_beam_search *beams, const char *label)
{
    bool same = length == expected->length && memcmp(ids, expected->ids, length * sizeof *ids) == 0;
    if (same)
        return;
    double score = score_of(rig->session, &rig->weights.config, ids, length, beams->length_penalty);
    if (rig->desc.cache_dtype == VKF_DTYPE_F32 || fabs(score - expected->score) > 1e-2)
        fail_msg("%s: %u tokens with the score %g, expected %u with %g", label, length, score, expected->length,
                 expected->score);
}

static void check_beams(vkf_test_gpu *gpu, const vkf_model_config *config, vkf_dtype dtype, vkf_dtype cache_dtype)
{
    static const vkf_beam_search settings[] = {
        {.num_beams = BEAMS, .length_penalty = 1, .early_stopping = VKF_EARLY_STOPPING_NEVER},
        {.num_beams = BEAMS, .length_penalty = 0, .early_stopping = VKF_EARLY_STOPPING_ON},
    };
    vkf_test_rig rig;
    vkf_session_desc desc = beam_desc, whole = whole_desc;
    int32_t sources[BATCH * SOURCE], ids[BATCH * NEW];
    uint32_t generated[BATCH];
    desc.cache_dtype = whole.cache_dtype = cache_dtype;
    vkf_test_rig_make(gpu, config, dtype, &whole, &rig);
    vkf_session *session = vkf_test_make_session(gpu, rig.model, &desc);
    for (size_t i = 0; i < BATCH * SOURCE; i++)
        sources[i] = 4 + (int32_t)vkf_test_random_below(&gpu->random, config->source_vocab - 4);
    for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++) {
        const int32_t *source = sources;
        generate(gpu, session, sources, &settings[s], ids, generated);
        for (uint32_t row = 0; row < BATCH; source += lengths[row++]) {
            const searched expected = search_prefixes(rig.session, config, source, lengths[row], &settings[s]);
            check_row(&rig, &expected, ids + (size_t)row * NEW, generated[row], &settings[s],
                      vkf_test_label(gpu, "setting %zu, row %u", s, row));
        }
    }
    assert_int_equal(vkf_session_get_record_count(session), vkf_session_get_command_buffer_count(session));
    vkf_session_destroy(&session);
    vkf_test_rig_free(&rig);
}

static void test_beams_equal_prefixes(void **state)
{
    const vkf_model_config config = vkf_test_small_seq2seq();
    check_beams(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, VKF_DTYPE_F32);
    check_beams(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, VKF_DTYPE_F16);
}

static void test_beams_equal_prefixes_odd_width(void **state)
{
    vkf_model_config config = vkf_test_small_seq2seq();
    config.d_model = 15;
    config.num_heads = 3;
    check_beams(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, VKF_DTYPE_F32);
    check_beams(vkf_test_gpu_of(state), &config, VKF_DTYPE_F16, VKF_DTYPE_F16);
    config.d_model = 3; // half a word is a third of a position
    check_beams(vkf_test_gpu_of(state), &config, VKF_DTYPE_F16, VKF_DTYPE_F16);
    check_beams(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, VKF_DTYPE_F16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beams_equal_prefixes),
        cmocka_unit_test(test_beams_equal_prefixes_odd_width),
    };
    return cmocka_run_group_tests_name("beam search", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
