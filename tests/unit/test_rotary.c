// Frequencies of rotary embeddings against those of transformers 4.57's ROPE_INIT_FUNCTIONS.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/family/config_file.h"
#include "model/family/rotary_rows.h"

#include "recording_host.h"
#include "scratch_directory.h"

#define HALF 8 // of the 16 elements of a head

// Loads a small model whose rope_scaling is that, and whose max_position_embeddings is `positions`.
static vkf_status load_kind(scratch_directory *scratch, const char *kind, const char *scaling, int positions,
                            recording_host *recording, vkf_model_config *out_config)
{
    char text[1024];
    const vkf__family *family = NULL;
    (void)snprintf(
        text, sizeof text,
        "{\"model_type\": \"%s\", \"hidden_size\": 32, \"num_attention_heads\": 2, \"num_key_value_heads\": 1,"
        " \"intermediate_size\": 44, \"num_hidden_layers\": 1, \"hidden_act\": \"silu\", \"vocab_size\": 10,"
        " \"max_position_embeddings\": %d, \"rms_norm_eps\": 1e-5, \"rope_theta\": 10000.0,"
        " \"rope_scaling\": %s}",
        kind, positions, scaling);
    recording_host_init(recording);
    vkf_status status = vkf__config_load(&recording->host, scratch_write(scratch, "config.json", text, strlen(text)),
                                         out_config, &family);
    assert_int_equal(recording->live, 0);
    return status;
}

static vkf_status load(scratch_directory *scratch, const char *scaling, int positions, recording_host *recording,
                       vkf_model_config *out_config)
{
    return load_kind(scratch, "llama", scaling, positions, recording, out_config);
}

static void check_frequencies(const vkf_rotary_config *rotary, const float expected[HALF])
{
    for (size_t i = 0; i < HALF; i++)
        if (fabs((double)rotary->inverse_frequency[i] - (double)expected[i]) > 2e-7 * (double)expected[i])
            fail_msg("frequency %zu is %.9g, expected %.9g", i, (double)rotary->inverse_frequency[i],
                     (double)expected[i]);
}

static void test_kinds_of_scaling(void **state)
{
    static const struct {
        const char *scaling;
        float scale, frequencies[HALF];
    } kinds[] = {
        {"null", 1, {1, 0.316227766f, 0.1f, 0.0316227766f, 0.01f, 0.00316227766f, 0.001f, 0.000316227766f}},
        // As transformers 5.24 has it, whose Llama rotates whole heads.
        {"{\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}",
         1,
         {1, 0.316227766f, 0.1f, 0.0316227766f, 0.01f, 0.00316227766f, 0.001f, 0.000316227766f}},
        {"{\"rope_type\": \"linear\", \"factor\": 2.5}",
         1,
         {0.4f, 0.1264911f, 0.04f, 0.0126491114f, 0.004f, 0.00126491114f, 0.0004f, 0.000126491112f}},
        {"{\"type\": \"yarn\", \"factor\": 3.0, \"original_max_position_embeddings\": 16}",
         1.109861228866811f,
         {1, 0.10540925f, 0.0333333351f, 0.010540925f, 0.00333333341f, 0.00105409266f, 0.00033333333f,
          0.000105409257f}},
        {"{\"rope_type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 16, \"mscale\": 0.8,"
         " \"mscale_all_dim\": 0.5}",
         1.0388929752217428f,
         {1, 0.079056941f, 0.025f, 0.00790569466f, 0.0025f, 0.000790569466f, 0.00025f, 7.90569466e-05f}},
        {"{\"rope_type\": \"yarn\", \"factor\": 3.0, \"original_max_position_embeddings\": 16, \"attention_factor\": "
         "1.3}",
         1.3f,
         {1, 0.10540925f, 0.0333333351f, 0.010540925f, 0.00333333341f, 0.00105409266f, 0.00033333333f,
          0.000105409257f}},
        {"{\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0,"
         " \"original_max_position_embeddings\": 16}",
         1,
         {0.576056361f, 0.0395284705f, 0.0125f, 0.00395284733f, 0.00125f, 0.000395284733f, 0.000125f, 3.95284733e-05f}},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        recording_host recording;
        vkf_model_config config;
        if (load(*state, kinds[i].scaling, 48, &recording, &config) != VKF_OK)
            fail_msg("%s: %s", kinds[i].scaling, recording.text);
        assert_int_equal(config.rotary.dim, 2 * HALF);
        assert_true(fabsf(config.rotary.scale - kinds[i].scale) < 1e-6f);
        check_frequencies(&config.rotary, kinds[i].frequencies);
    }
}

// Within the trained length nothing changes; beyond it the sequence's length decides for all of its positions.
static void test_dynamic_scaling(void **state)
{
    static const float of_30[HALF] = {1,
                                      0.258838892f,
                                      0.0669975653f,
                                      0.0173415765f,
                                      0.00448867399f,
                                      0.00116184331f,
                                      0.000300730229f,
                                      7.78406829e-05f};
    recording_host recording;
    vkf_model_config config;
    float row[2 * HALF], own[2 * HALF];
    assert_int_equal(load(*state, "{\"rope_type\": \"dynamic\", \"factor\": 3.5}", 16, &recording, &config), VKF_OK);
    assert_int_equal(config.max_target_len, 56);
    vkf__rotary_rows(&config.rotary, 5, 1, 30, row);
    for (size_t i = 0; i < HALF; i++) {
        assert_true(fabs((double)row[i] - cos(5 * (double)of_30[i])) < 1e-6);
        assert_true(fabs((double)row[HALF + i] - sin(5 * (double)of_30[i])) < 1e-6);
    }
    vkf__rotary_rows(&config.rotary, 5, 1, 16, row);
    vkf__rotary_rows(&config.rotary, 5, 1, 0, own);
    assert_memory_equal(row, own, sizeof row);
    assert_true(fabs((double)row[1] - cos(5 * 0.316227766)) < 1e-6);
    vkf__rotary_rows(&config.rotary, 29, 1, 30, row);
    vkf__rotary_rows(&config.rotary, 29, 1, 0, own); // the last of 30
    assert_memory_equal(row, own, sizeof row);
}

#define SHORT "[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]"
#define LONG "[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5]"

// One list within the trained length, the other beyond it, for all positions of a sequence.
static void test_longrope(void **state)
{
    static const float of_short[HALF] = {1,
                                         0.287479758f,
                                         0.0833333358f,
                                         0.0243252143f,
                                         0.00714285718f,
                                         0.00210818532f,
                                         0.000624999986f,
                                         0.000186016332f};
    static const float of_long[HALF] = {1,
                                        0.210818499f,
                                        0.0500000007f,
                                        0.0126491114f,
                                        0.00333333341f,
                                        0.000790569466f,
                                        0.000199999995f,
                                        4.8650425e-05f};
    static const struct {
        const char *scaling;
        int positions;
        float scale;
    } ways[] = {
        // The ratio of 48 to 16 positions, whether it is said or not; a factor that is given; an attention factor.
        {"{\"rope_type\": \"longrope\", \"original_max_position_embeddings\": 16, \"short_factor\": " SHORT
         ", \"long_factor\": " LONG "}",
         48, 1.1816262629022296f},
        {"{\"rope_type\": \"longrope\", \"factor\": 2.0, \"short_factor\": " SHORT ", \"long_factor\": " LONG
         "}, \"original_max_position_embeddings\": 16, \"x\": {}",
         48, 1.1816262629022296f},
        {"{\"rope_type\": \"longrope\", \"factor\": 2.0, \"short_factor\": " SHORT ", \"long_factor\": " LONG "}", 16,
         1.118033988749895f},
        {"{\"rope_type\": \"longrope\", \"attention_factor\": 1.3, \"short_factor\": " SHORT ", \"long_factor\": " LONG
         "}, \"original_max_position_embeddings\": 16, \"x\": {}",
         48, 1.3f},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        recording_host recording;
        vkf_model_config config;
        float row[2 * HALF], own[2 * HALF];
        if (load(*state, ways[i].scaling, ways[i].positions, &recording, &config) != VKF_OK)
            fail_msg("%zu: %s", i, recording.text);
        const vkf_rotary_config *rotary = &config.rotary;
        assert_int_equal(config.max_target_len, ways[i].positions);
        assert_int_equal(rotary->dynamic_from, 16);
        assert_true(fabsf(rotary->scale - ways[i].scale) < 1e-6f);
        check_frequencies(rotary, of_short);
        vkf__rotary_rows(rotary, 5, 1, 17, row);
        for (size_t k = 0; k < HALF; k++) {
            assert_true(fabs((double)row[k] - (double)rotary->scale * cos(5 * (double)of_long[k])) < 1e-6);
            assert_true(fabs((double)row[HALF + k] - (double)rotary->scale * sin(5 * (double)of_long[k])) < 1e-6);
        }
        vkf__rotary_rows(rotary, 5, 1, 16, row);
        vkf__rotary_rows(rotary, 5, 1, 0, own);
        assert_memory_equal(row, own, sizeof row);
        assert_true(fabs((double)row[1] - (double)rotary->scale * cos(5 * (double)of_short[1])) < 1e-6);
    }
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *scaling, *message;
        vkf_status status;
    } cases[] = {
        {"{\"rope_type\": \"longest\", \"factor\": 2.0}", "rope_type is \"longest\"; supported: default, linear",
         VKF_ERROR_UNSUPPORTED},
        {"{\"rope_type\": \"longrope\", \"short_factor\": " SHORT "}", "long_factor is no list of 8 numbers",
         VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"longrope\", \"short_factor\": [1, 2]}", "short_factor is no list of 8 numbers",
         VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"longrope\", \"short_factor\": [1, 1, 1, 1, 1, 1, 1, \"a\"]}",
         "short_factor[7] is no number above 0", VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"longrope\", \"short_factor\": " SHORT ", \"long_factor\": " LONG
         ", \"original_max_position_embeddings\": 1}",
         "LongRoPE from one position", VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"linear\"}", "'factor' is missing", VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"linear\", \"factor\": 0}", "factor of the rotary embedding is not above 0",
         VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"llama3\", \"factor\": 2.0, \"low_freq_factor\": 4.0, \"high_freq_factor\": 4.0}",
         "high_freq_factor is not above low_freq_factor", VKF_ERROR_FORMAT},
        {"{\"rope_type\": \"yarn\", \"factor\": 2.0, \"partial_rotary_factor\": 0.5}", "rotates whole heads",
         VKF_ERROR_UNSUPPORTED},
        {"{\"rope_type\": \"linear\", \"factor\": 2.0, \"partial_rotary_factor\": 1.5}", "rotates whole heads",
         VKF_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        vkf_model_config config;
        vkf_status status = load(*state, cases[i].scaling, 48, &recording, &config);
        if (status != cases[i].status || !strstr(recording.text, cases[i].message) ||
            !strstr(recording.text, "config.json"))
            fail_msg("%s: status %d with \"%s\", expected %d with \"%s\"", cases[i].scaling, status, recording.text,
                     cases[i].status, cases[i].message);
    }
}

// A family that rotates a part of each head.
static void test_parts_of_a_head(void **state)
{
    static const struct {
        const char *scaling, *message;
        uint32_t dim;
    } cases[] = {
        {"null", "", 4},
        {"{\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}", "", 8},
        {"{\"rope_type\": \"yarn\", \"factor\": 2.0, \"partial_rotary_factor\": 1.5}", "its part of a head 1.5", 0},
        {"{\"rope_type\": \"default\", \"partial_rotary_factor\": 0.2}", "3 elements of a head are rotated", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        vkf_model_config config;
        vkf_status status = load_kind(*state, "gpt_neox", cases[i].scaling, 48, &recording, &config);
        if (status == VKF_OK ? config.rotary.dim != cases[i].dim
                             : cases[i].dim > 0 || !strstr(recording.text, cases[i].message))
            fail_msg("%s: status %d with \"%s\"", cases[i].scaling, status, recording.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds_of_scaling, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_dynamic_scaling, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_longrope, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_refused, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_parts_of_a_head, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests_name("rotary", tests, NULL, NULL);
}
