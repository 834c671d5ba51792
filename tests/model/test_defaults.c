// What is left zero in a descriptor, and paths that are empty.
#include <stdlib.h>
#include <string.h>

#include "model_files.h"
#include "sample_layers.h"

static const vkf_layer_sizes sizes = {1, 3, 3};

// An input of zeros, as padding is, through an encoder layer without biases: only eps keeps its variance above 0.
static void run_zeros(vkf_test_gpu *gpu, const sample_weights *weights, float eps, float out[3 * SAMPLE_DIM])
{
    vkf_transformer_layer_desc desc = {.d_model = SAMPLE_DIM,
                                       .num_heads = SAMPLE_HEADS,
                                       .dim_feedforward = SAMPLE_HIDDEN,
                                       .layer_norm_eps = eps,
                                       .self = weights->self,
                                       .feed_forward = weights->feed_forward,
                                       .norm1 = weights->norm[0],
                                       .norm2 = weights->norm[1],
                                       .max_sizes = sizes};
    vkf_layer *layer = NULL;
    desc.self.v_bias = desc.self.out_bias = (vkf_tensor){0};
    assert_int_equal(vkf_encoder_layer_create(gpu->context, &desc, &layer), VKF_OK);
    assert_int_equal(vkf_layer_run(layer, &sizes), VKF_OK);
    assert_int_equal(vkf_layer_read(layer, VKF_PORT_OUTPUT, out, 3 * SAMPLE_DIM * sizeof *out), VKF_OK);
    vkf_layer_destroy(&layer);
}

static void test_layer_norm_eps_of_0_is_pytorchs(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    float by_default[3 * SAMPLE_DIM], given[3 * SAMPLE_DIM], other[3 * SAMPLE_DIM], zero[3 * SAMPLE_DIM];
    sample_weights weights;
    sample_weights_create(gpu, &weights);
    run_zeros(gpu, &weights, 0, by_default);
    run_zeros(gpu, &weights, 1e-5f, given);
    run_zeros(gpu, &weights, 1, other);
    run_zeros(gpu, &weights, VKF_ZERO, zero);
    assert_memory_equal(by_default, given, sizeof given);
    assert_true(memcmp(by_default, other, sizeof other) != 0);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        assert_true(by_default[i] == by_default[i] && zero[i] != zero[i]); // only without eps NaN
    sample_weights_destroy(&weights);
}

// The output of a feed-forward layer for an input that is negative and positive.
static void run_activation(vkf_test_gpu *gpu, const sample_weights *weights, vkf_activation activation,
                           float out[3 * SAMPLE_DIM])
{
    const vkf_feed_forward_desc desc = {.d_model = SAMPLE_DIM,
                                        .dim_feedforward = SAMPLE_HIDDEN,
                                        .activation = activation,
                                        .params = weights->feed_forward,
                                        .max_sizes = sizes};
    float x[3 * SAMPLE_DIM];
    vkf_layer *layer = NULL;
    for (int i = 0; i < 3 * SAMPLE_DIM; i++)
        x[i] = (float)(i % 7 - 3);
    assert_int_equal(vkf_feed_forward_create(gpu->context, &desc, &layer), VKF_OK);
    assert_int_equal(vkf_layer_write(layer, VKF_PORT_QUERY, x, sizeof x), VKF_OK);
    assert_int_equal(vkf_layer_run(layer, &sizes), VKF_OK);
    assert_int_equal(vkf_layer_read(layer, VKF_PORT_OUTPUT, out, sizeof x), VKF_OK);
    vkf_layer_destroy(&layer);
}

static void test_activation_of_0_is_relu(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    float by_default[3 * SAMPLE_DIM], relu[3 * SAMPLE_DIM], none[3 * SAMPLE_DIM];
    sample_weights weights;
    sample_weights_create(gpu, &weights);
    run_activation(gpu, &weights, VKF_ACTIVATION_DEFAULT, by_default);
    run_activation(gpu, &weights, VKF_ACTIVATION_RELU, relu);
    run_activation(gpu, &weights, VKF_ACTIVATION_NONE, none);
    assert_memory_equal(by_default, relu, sizeof relu);
    assert_true(memcmp(by_default, none, sizeof none) != 0);
    sample_weights_destroy(&weights);
}

// A product's default is none, which also has a name: with either, c and a residual may come together.
static void test_activation_of_0_of_a_product_is_none(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static const vkf_activation nones[] = {VKF_ACTIVATION_DEFAULT, VKF_ACTIVATION_NONE};
    const uint32_t shape[] = {1, 1};
    const float minus_one = -1;
    vkf_tensor x, out;
    assert_int_equal(vkf_tensor_create(gpu->context, VKF_DTYPE_F32, 2, shape, "x", &x), VKF_OK);
    assert_int_equal(vkf_tensor_create(gpu->context, VKF_DTYPE_F32, 2, shape, "out", &out), VKF_OK);
    assert_int_equal(vkf_tensor_write(&x, &minus_one, sizeof minus_one), VKF_OK);
    for (size_t i = 0; i < sizeof nones / sizeof nones[0]; i++) {
        const vkf_gemm_desc desc = {
            .a = x, .b = x, .c = x, .residual = x, .out = out, .alpha = 1, .beta = 3, .activation = nones[i]};
        float result = 0;
        assert_int_equal(vkf_gemm(gpu->context, &desc), VKF_OK);
        assert_int_equal(vkf_tensor_read(&out, &result, sizeof result), VKF_OK);
        assert_true(result == -3); // 1 - 3 - 1
    }
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
}

static void test_config_of_zeros_has_pytorchs_eps_and_activation(void **state)
{
    const vkf_model_config config = {.kind = VKF_MODEL_TRANSFORMER,
                                     .d_model = 8,
                                     .num_heads = 2,
                                     .dim_feedforward = 8,
                                     .num_encoder_layers = 1,
                                     .num_decoder_layers = 1};
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 2, .max_target_len = 2};
    vkf_model_config loaded;
    vkf_test_rig rig;
    vkf_test_rig_make(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, &desc, &rig);
    vkf_model_get_config(rig.model, &loaded);
    assert_true(loaded.layer_norm_eps == 1e-5f);
    assert_int_equal(loaded.activation, VKF_ACTIVATION_RELU);
    vkf_test_rig_free(&rig);
}

// "" is no directory: joined with a file's name it would be the root's.
static void test_empty_directory_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc model = {.directory = ""};
    const vkf_session_desc session = {.max_batch = 1, .max_target_len = 4};
    const vkf_generator_desc generator = {.directory = ""};
    const vkf_embedder_desc embedder = {.directory = ""};
    vkf_memory_plan plan;
    void *none = NULL;
    const vkf_status statuses[] = {
        vkf_model_load(gpu->context, &model, (vkf_model **)&none),
        vkf_model_plan(gpu->context, &model, &plan),
        vkf_model_plan_session(gpu->context, &model, &session, &plan),
        vkf_generator_load(gpu->context, &generator, (vkf_generator **)&none),
        vkf_embedder_load(gpu->context, &embedder, (vkf_embedder **)&none),
        vkf_vocabulary_load(gpu->context, "", (vkf_vocabulary **)&none),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (statuses[i] != VKF_ERROR_INVALID_ARGUMENT)
            fail_msg("function %zu: %s", i, vkf_status_name(statuses[i]));
    assert_non_null(strstr(gpu->last_error, "is \"\": give its path"));
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = ""}, (vkf_tokenizer **)&none),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norm_eps_of_0_is_pytorchs),
        cmocka_unit_test(test_activation_of_0_is_relu),
        cmocka_unit_test(test_activation_of_0_of_a_product_is_none),
        cmocka_unit_test(test_config_of_zeros_has_pytorchs_eps_and_activation),
        cmocka_unit_test(test_empty_directory_is_refused),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
