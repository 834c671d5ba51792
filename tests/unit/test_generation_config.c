// generation_config.json: what becomes the defaults of generation, and the keys that a warning names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/load/model_directory.h"

#include "recording_host.h"
#include "scratch_directory.h"

// NULL: there is no such file.
static vkf_status load(scratch_directory *scratch, recording_host *recording, const char *config,
                       const char *generation, vkf__model_source *source)
{
    recording_host_init(recording);
    scratch_write(scratch, "config.json", config, strlen(config));
    if (generation)
        scratch_write(scratch, "generation_config.json", generation, strlen(generation));
    vkf_status status = vkf__model_directory_load(&recording->host, scratch->path, source);
    assert_int_equal(recording->live, 0);
    return status;
}

static const char gpt2[] = "{\"model_type\": \"gpt2\", \"vocab_size\": 101}";
static const char bart[] = "{\"model_type\": \"bart\", \"vocab_size\": 101}";

static vkf_generation_defaults defaults_of(scratch_directory *scratch, const char *config, const char *generation)
{
    recording_host recording;
    vkf__model_source source;
    if (load(scratch, &recording, config, generation, &source) != VKF_OK || recording.messages > 0)
        fail_msg("%s: %s", generation ? generation : config, recording.text);
    return source.config.generation;
}

static void test_sampling(void **state)
{
    const vkf_generation_defaults d =
        defaults_of(*state, gpt2,
                    "{\"do_sample\": true, \"temperature\": 0.5, \"top_k\": 7, \"top_p\": 0.75, "
                    "\"min_p\": 0.125, \"repetition_penalty\": 1.25, \"max_new_tokens\": 9}");
    assert_true(d.sampling.temperature == 0.5f && d.sampling.top_p == 0.75f && d.sampling.min_p == 0.125f);
    assert_true(d.sampling.repetition_penalty == 1.25f);
    assert_int_equal(d.sampling.top_k, 7);
    assert_int_equal(d.max_new_tokens, 9);
    assert_int_equal(d.beams.num_beams, 0);
}

static void test_sampling_by_default(void **state)
{
    vkf_generation_defaults d = defaults_of(*state, gpt2, "{\"do_sample\": true}");
    assert_true(d.sampling.temperature == 1.0f);
    assert_int_equal(d.sampling.top_k, 50);
    d = defaults_of(*state, gpt2, "{\"do_sample\": true, \"top_k\": null}"); // none
    assert_true(d.sampling.temperature == 1.0f);
    assert_int_equal(d.sampling.top_k, 0);
}

static void test_a_temperature_without_sampling(void **state)
{
    const vkf_generation_defaults d = defaults_of(*state, gpt2, "{\"temperature\": 0.7, \"top_p\": 0.9}");
    assert_true(d.sampling.temperature == 0.0f && d.sampling.top_p == 0.9f);
    assert_int_equal(d.sampling.top_k, 0);
}

static void test_beams(void **state)
{
    vkf_generation_defaults d = defaults_of(
        *state, bart, "{\"num_beams\": 4, \"length_penalty\": 2.0, \"early_stopping\": true, \"max_length\": 142}");
    assert_int_equal(d.beams.num_beams, 4);
    assert_true(d.beams.length_penalty == 2.0f);
    assert_int_equal(d.beams.early_stopping, VKF_EARLY_STOPPING_ON);
    assert_int_equal(d.max_length, 142);
    d = defaults_of(*state, bart, "{\"early_stopping\": \"never\"}");
    assert_int_equal(d.beams.early_stopping, VKF_EARLY_STOPPING_NEVER);
    assert_true(d.beams.length_penalty == 1.0f);
}

static void test_the_old_place(void **state)
{
    scratch_directory *scratch = *state;
    static const char config[] =
        "{\"model_type\": \"bart\", \"vocab_size\": 101, \"num_beams\": 5, \"max_length\": 30}";
    vkf_generation_defaults d = defaults_of(scratch, config, NULL);
    assert_int_equal(d.beams.num_beams, 5);
    assert_int_equal(d.max_length, 30);
    d = defaults_of(scratch, config, "{}"); // it decides alone
    assert_int_equal(d.beams.num_beams, 0);
    assert_int_equal(d.max_length, 0);
}

// The key, its value and the file, and the model runs.
static void test_warnings(void **state)
{
    static const struct {
        const char *key, *value;
    } rows[] = {
        {"min_length", "56"},
        {"min_new_tokens", "3"},
        {"no_repeat_ngram_size", "3"},
        {"encoder_no_repeat_ngram_size", "3"},
        {"encoder_repetition_penalty", "1.5"},
        {"exponential_decay_length_penalty", "[2,1.5]"},
        {"begin_suppress_tokens", "[3]"},
        {"forced_decoder_ids", "[[1,2]]"},
        {"forced_bos_token_id", "5"},
        {"forced_eos_token_id", "5"},
        {"sequence_bias", "[[[5],2.5]]"},
        {"typical_p", "0.5"},
        {"top_h", "0.5"},
        {"epsilon_cutoff", "0.5"},
        {"eta_cutoff", "0.5"},
        {"guidance_scale", "1.5"},
        {"penalty_alpha", "0.5"},
        {"diversity_penalty", "0.5"},
        {"num_beam_groups", "2"},
        {"num_return_sequences", "3"},
        {"constraints", "[1]"},
        {"force_words_ids", "[[5]]"},
        {"renormalize_logits", "true"},
        {"stop_strings", "[\"a\"]"},
        {"max_time", "1.5"},
        {"token_healing", "true"},
        {"watermarking_config", "{\"a\":1}"},
        {"dola_layers", "\"low\""},
        {"num_beams", "65"},
        {"temperature", "-1.5"},
        {"early_stopping", "\"sometimes\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128], expected[128];
        recording_host recording;
        vkf__model_source source;
        (void)snprintf(text, sizeof text, "{\"%s\": %s}", rows[i].key, rows[i].value);
        (void)snprintf(expected, sizeof expected, "generation_config.json: %s is %s, which is not followed",
                       rows[i].key, rows[i].value);
        assert_int_equal(load(*state, &recording, gpt2, text, &source), VKF_OK);
        if (recording.messages != 1 || !strstr(recording.text, expected))
            fail_msg("%s: %zu messages, %s", text, recording.messages, recording.text);
    }
}

static void test_values_without_effect(void **state)
{
    (void)defaults_of(*state, gpt2,
                      "{\"min_length\": 0, \"no_repeat_ngram_size\": 0, \"typical_p\": 1.0, \"num_beam_groups\": 1, "
                      "\"num_return_sequences\": 1, \"guidance_scale\": null, \"begin_suppress_tokens\": [], "
                      "\"renormalize_logits\": false, \"early_stopping\": false, \"use_cache\": true, "
                      "\"_from_model_config\": true, \"transformers_version\": \"5.0\", \"num_beams\": 1}");
}

static void test_sampling_with_beams(void **state)
{
    recording_host recording;
    vkf__model_source source;
    assert_int_equal(load(*state, &recording, gpt2, "{\"do_sample\": true, \"num_beams\": 3}", &source), VKF_OK);
    assert_non_null(strstr(recording.text, "do_sample"));
    assert_true(source.config.generation.sampling.temperature == 0.0f);
    assert_int_equal(source.config.generation.beams.num_beams, 3);
}

static void test_tokens_that_never_come(void **state)
{
    recording_host recording;
    vkf__model_source source;
    assert_int_equal(load(*state, &recording, gpt2,
                          "{\"suppress_tokens\": [3, -1], \"bad_words_ids\": [[5], [101]], \"eos_token_id\": [7, -1]}",
                          &source),
                     VKF_OK);
    assert_int_equal(source.config.banned_count, 2);
    assert_int_equal(source.config.banned_ids[0], 5);
    assert_int_equal(source.config.banned_ids[1], 3);
    assert_int_equal(source.config.eos_count, 1);
    assert_int_equal(source.config.eos_id, 7);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *config, *generation, *message;
    } rows[] = {
        {gpt2, "{\"top_k\": \"7\"}", "top_k"},
        {gpt2, "{\"do_sample\": 1}", "do_sample"},
        {gpt2, "{\"max_length\": -1}", "max_length"},
        {gpt2, "{\"eos_token_id\": \"a\"}", "eos_token_id"},
        {gpt2, "{\"suppress_tokens\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "suppress_tokens"},
        {bart, "{\"decoder_start_token_id\": 101}", "decoder_start_token_id"},
        {"{\"model_type\": \"t5\", \"vocab_size\": 101}", "{}", "decoder_start_token_id"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        recording_host recording;
        vkf__model_source source;
        vkf_status status = load(*state, &recording, rows[i].config, rows[i].generation, &source);
        if (status == VKF_OK || !strstr(recording.text, rows[i].message))
            fail_msg("%s: status %d, %s", rows[i].generation, status, recording.text);
    }
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_sampling),
        SCRATCH_TEST(test_sampling_by_default),
        SCRATCH_TEST(test_a_temperature_without_sampling),
        SCRATCH_TEST(test_beams),
        SCRATCH_TEST(test_the_old_place),
        SCRATCH_TEST(test_warnings),
        SCRATCH_TEST(test_values_without_effect),
        SCRATCH_TEST(test_sampling_with_beams),
        SCRATCH_TEST(test_tokens_that_never_come),
        SCRATCH_TEST(test_what_is_refused),
    };
    return cmocka_run_group_tests_name("generation config", tests, NULL, NULL);
}
