// The parameters of a model that is trained: which train, and the gradients and moments beside their weights.
#include <stdlib.h>
#include <string.h>

#include "model/family/weight_names.h"
#include "model/load/model.h"
#include "support/pretrained.h"
#include "support/trained.h"
#include "training/parameters.h"

#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"
#define MOST_TENSORS 4096

typedef struct views {
    vkf_tensor all[MOST_TENSORS];
    size_t count;
} views;

static void collect(void *user, vkf_tensor *tensor)
{
    views *v = user;
    assert_true(v->count < MOST_TENSORS);
    v->all[v->count++] = *tensor;
}

static views *views_of(const vkf_model *model, vkf__weights *weights)
{
    views *v = calloc(1, sizeof *v);
    assert_non_null(v);
    vkf__weights_visit(&model->config, weights, collect, v);
    return v;
}

// Whether two views of weights lie to each other as those of their gradients do, where both train.
static void check_views(const views *value, const views *gradient, size_t a, size_t b)
{
    const vkf_tensor *v = value->all, *g = gradient->all;
    const bool same = v[a].buffer == v[b].buffer && v[a].offset_bytes == v[b].offset_bytes;
    assert_int_equal(same, g[a].buffer == g[b].buffer && g[a].offset_bytes == g[b].offset_bytes);
}

static void check_gradients(vkf_test_gpu *gpu, const char *source, size_t most_ranges)
{
    vkf_model *model = vkf_test_load_trainable(gpu, source);
    vkf__parameters p;
    vkf_memory_plan plan = {0};
    vkf_test_must(gpu, vkf__parameters_plan(model, NULL, 0, 2, &plan));
    const uint64_t before = vkf_test_bytes_in_use(gpu);
    vkf_test_must(gpu, vkf__parameters_create(model, NULL, 0, 2, &p));
    assert_int_equal(vkf_test_bytes_in_use(gpu) - before, plan.weights_bytes);
    assert_in_range(p.range_count, 1, most_ranges);
    views *values = views_of(model, &model->weights), *gradients = views_of(model, &p.gradients);
    assert_int_equal(values->count, gradients->count);
    for (size_t i = 0; i < values->count; i++) {
        assert_int_equal(values->all[i].rank, gradients->all[i].rank);
        assert_memory_equal(values->all[i].shape, gradients->all[i].shape, sizeof values->all[i].shape);
        for (size_t j = 0; j < i && values->all[i].rank > 0; j++)
            if (values->all[j].rank > 0)
                check_views(values, gradients, i, j);
    }
    free(values);
    free(gradients);
    vkf__parameters_free(&p);
    assert_int_equal(vkf_test_bytes_in_use(gpu), before);
    vkf_model_destroy(&model);
}

static void test_gradients_lie_as_the_weights_do(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_gradients(gpu, DEMO, 1); // in_proj_weight is cut
    check_gradients(gpu, vkf_test_pretrained("gpt2"), 1);
    check_gradients(gpu, vkf_test_pretrained("t5"), 1);
    check_gradients(gpu, vkf_test_pretrained("sentence-modules"), 1);
}

static void test_gradients_and_moments_begin_as_zeros(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("gpt2"));
    for (int round = 0; round < 2; round++) { // the second is likely to get memory that was used
        vkf__parameters p;
        vkf_test_must(gpu, vkf__parameters_create(model, NULL, 0, 1, &p));
        for (size_t i = 0; i < p.range_count; i++) {
            assert_int_equal(p.ranges[i].gradient.size_bytes, p.ranges[i].count * sizeof(float));
            assert_true(vkf_test_all_zero(&p.ranges[i].gradient) && vkf_test_all_zero(&p.ranges[i].moments));
        }
        vkf_test_fill_ranges(&p, false, 1);
        vkf_test_fill_ranges(&p, true, 1);
        vkf__parameters_free(&p);
    }
    vkf_model_destroy(&model);
}

// What lies between the weights of a trainable model: an optimiser goes over it.
static void test_padding_between_weights_is_zero(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("gpt2"));
    vkf__parameters p;
    vkf_test_must(gpu, vkf__parameters_create(model, NULL, 0, 0, &p));
    for (size_t i = 0; i < p.count; i++) {
        const vkf_tensor *v = &p.items[i].value;
        uint64_t bytes = 0;
        assert_true(vkf_tensor_bytes(v, &bytes));
        float *zeros = calloc(1, bytes);
        assert_int_equal(vkf_tensor_write(v, zeros, bytes), VKF_OK);
        free(zeros);
        assert_false(vkf__present(&p.items[i].moments));
    }
    for (size_t i = 0; i < p.range_count; i++)
        assert_true(vkf_test_all_zero(&p.ranges[i].value));
    vkf__parameters_free(&p);
    vkf_model_destroy(&model);
}

static void test_patterns_choose_what_trains(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("gpt2"));
    const char *const patterns[] = {"*h.0.*", "*ln_f.?eight"};
    const char *const wrong[] = {"*.h.0.*", "transformer.ln_f.weigth"};
    vkf__parameters p;
    vkf_memory_plan all = {0}, some = {0};
    vkf_test_must(gpu, vkf__parameters_create(model, patterns, 2, 2, &p));
    for (size_t i = 0; i < p.count; i++) {
        const bool trains = strstr(p.items[i].name, "h.0.") || strstr(p.items[i].name, "ln_f.weight");
        assert_int_equal(vkf__present(&p.items[i].gradient), trains);
        assert_int_equal(p.items[i].moments.size_bytes, 2 * p.items[i].gradient.size_bytes);
    }
    assert_int_equal(p.gradients.decoder[1].self.q_weight.rank, 0);
    assert_int_equal(p.gradients.target_embedding.rank, 0);
    assert_int_equal(p.gradients.decoder[0].self.q_weight.rank, 2);
    assert_int_equal(p.gradients.target.final_norm.weight.rank, 1);
    assert_int_equal(p.gradients.target.final_norm.bias.rank, 0);
    assert_in_range(p.range_count, 2, 3);
    vkf_test_must(gpu, vkf__parameters_plan(model, patterns, 2, 2, &some));
    vkf_test_must(gpu, vkf__parameters_plan(model, NULL, 0, 2, &all));
    assert_true(some.weights_bytes < all.weights_bytes);
    vkf__parameters_free(&p);
    vkf_test_expect(gpu, vkf__parameters_create(model, wrong, 2, 2, &p), VKF_ERROR_INVALID_ARGUMENT,
                    "'transformer.ln_f.weigth'");
    assert_non_null(strstr(gpu->last_error, "near that are transformer.ln_f.weight"));
    vkf_test_must(gpu, vkf__parameters_create(model, wrong, 0, 2, &p)); // none trains
    assert_int_equal(p.range_count, 0);
    vkf__parameters_free(&p);
    vkf_model_destroy(&model);
}

// Each range is one that the device binds with its moments at once, unless it is one parameter.
static void test_ranges_fit_what_a_device_binds(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_trainable(gpu, vkf_test_pretrained("gpt2"));
    vkf__caps *caps = &gpu->context->device.plan.caps;
    const vkf__caps before = *caps;
    vkf__parameters p;
    uint64_t elements = 0;
    caps->max_storage_buffer_range = 64 << 10;
    vkf_test_must(gpu, vkf__parameters_create(model, NULL, 0, 2, &p));
    *caps = before;
    assert_in_range(p.range_count, 2, p.count);
    for (size_t i = 0; i < p.count; i++) {
        const vkf__span value = vkf__span_of(&p.items[i].value);
        elements += value.size_bytes / sizeof(float);
        assert_int_equal(p.items[i].gradient.size_bytes, value.size_bytes);
        assert_int_equal(p.items[i].moments.size_bytes, 2 * value.size_bytes);
    }
    for (size_t i = 0; i < p.range_count; i++) {
        const vkf__parameter_range *r = &p.ranges[i];
        bool single = false;
        for (size_t j = 0; j < p.count; j++)
            single = single || p.items[j].gradient.size_bytes == r->gradient.size_bytes;
        assert_true(single || r->moments.size_bytes <= 64 << 10);
        elements -= elements < r->count ? elements : r->count;
    }
    assert_int_equal(elements, 0); // all of them are in ranges
    vkf__parameters_free(&p);
    vkf_model_destroy(&model);
}

static void test_a_plan_needs_no_weights(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const char *const patterns[] = {"*.attn.*"};
    const vkf_model_desc desc = {.directory = vkf_test_pretrained("gpt2"), .trainable = true};
    vkf_model *shape = NULL;
    vkf_memory_plan shaped = {0}, loaded = {0};
    vkf_test_must(gpu, vkf__model_shape(gpu->context, &desc, &shape));
    vkf_test_must(gpu, vkf__parameters_plan(shape, patterns, 1, 2, &shaped));
    vkf_model *model = vkf_test_load_trainable(gpu, desc.directory);
    vkf_test_must(gpu, vkf__parameters_plan(model, patterns, 1, 2, &loaded));
    assert_true(shaped.weights_bytes > 0);
    assert_memory_equal(&shaped, &loaded, sizeof shaped);
    vkf_model_destroy(&shape);
    vkf_model_destroy(&model);
}

static void test_a_plain_model_has_no_parameters(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_model *model = vkf_test_load_pretrained(gpu, DEMO, VKF_MODEL_PRECISION_F32);
    vkf__parameters p;
    vkf_test_expect(gpu, vkf__parameters_create(model, NULL, 0, 2, &p), VKF_ERROR_INVALID_ARGUMENT,
                    "vkf_model_desc.trainable");
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_lie_as_the_weights_do),
        cmocka_unit_test(test_gradients_and_moments_begin_as_zeros),
        cmocka_unit_test(test_padding_between_weights_is_zero),
        cmocka_unit_test(test_patterns_choose_what_trains),
        cmocka_unit_test(test_ranges_fit_what_a_device_binds),
        cmocka_unit_test(test_a_plan_needs_no_weights),
        cmocka_unit_test(test_a_plain_model_has_no_parameters),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
