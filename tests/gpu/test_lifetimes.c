// Who keeps whom: a context and everything made from it, destroyed in any order; tensors of another context, and
// tensors whose buffer is gone.
#include <stdlib.h>
#include <string.h>

#include "counting_allocator.h"
#include "pretrained.h"
#include "sample_layers.h"

static const vkf_layer_sizes sizes = {2, 6, 5};

typedef struct warnings {
    char last[1024];
    int count;
} warnings;

static void listen(void *user, vkf_severity severity, const char *text)
{
    warnings *w = user;
    if (severity != VKF_SEVERITY_WARNING)
        return;
    w->count++;
    (void)snprintf(w->last, sizeof w->last, "%s", text);
}

// One of everything that is made from a context, with a host memory that counts.
typedef struct household {
    vkf_test_gpu gpu; // of its own; the helpers want one
    counting_allocator allocator;
    warnings warnings;
    vkf_buffer *buffer;
    sample_weights weights;
    vkf_layer *layer;
    vkf_model *model;
    vkf_session *session;
    vkf_generator *generator;
    vkf_embedder *embedder;
} household;

enum { CONTEXT, BUFFER, WEIGHTS, LAYER, MODEL, SESSION, GENERATOR, EMBEDDER, MEMBERS };

static void make(const vkf_test_gpu *outer, household *h)
{
    const vkf_session_desc session = {.max_batch = 1, .max_target_len = 8};
    vkf_generator_desc generator = {.max_context = 8};
    vkf_embedder_desc embedder = {.max_batch = 1, .max_tokens = 8};
    *h = (household){.gpu = {.profile = outer->profile, .seed = outer->seed}};
    vkf_test_random_init(&h->gpu.random, outer->seed);
    const vkf_context_desc desc = {.profile = outer->profile,
                                   .skip_self_test = true,
                                   .message = listen,
                                   .message_user = &h->warnings,
                                   .allocator = counting_callbacks(&h->allocator)};
    assert_int_equal(vkf_context_create(&desc, &h->gpu.context), VKF_OK);
    vkf_context *context = h->gpu.context;
    assert_int_equal(vkf_buffer_create(context, 64, "buffer", &h->buffer), VKF_OK);
    sample_weights_create(&h->gpu, &h->weights);
    assert_int_equal(sample_layer_create(context, SAMPLE_DECODER, &h->weights, sizes, &h->layer), VKF_OK);
    h->model = vkf_test_load_family(&h->gpu, "llama");
    h->session = vkf_test_make_session(&h->gpu, h->model, &session);
    generator.directory = vkf_test_pretrained("llama");
    h->generator = vkf_test_make_generator(&h->gpu, &generator);
    embedder.directory = vkf_test_pretrained("bert");
    h->embedder = vkf_test_make_embedder(&h->gpu, &embedder);
}

static void destroy(household *h, int member)
{
    switch (member) {
    case CONTEXT:
        vkf_context_destroy(&h->gpu.context);
        break;
    case BUFFER:
        vkf_buffer_destroy(&h->buffer);
        break;
    case WEIGHTS:
        sample_weights_destroy(&h->weights);
        break;
    case LAYER:
        vkf_layer_destroy(&h->layer);
        break;
    case MODEL:
        vkf_model_destroy(&h->model);
        break;
    case SESSION:
        vkf_session_destroy(&h->session);
        break;
    case GENERATOR:
        vkf_generator_destroy(&h->generator);
        break;
    default:
        vkf_embedder_destroy(&h->embedder);
    }
}

// Every member goes first once, and last once; the others follow it in a circle, forwards or backwards.
static void test_destroy_in_any_order(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    household *h = malloc(sizeof *h);
    assert_non_null(h);
    for (int order = 0; order < 2 * MEMBERS; order++) {
        int step = order < MEMBERS ? 1 : MEMBERS - 1;
        make(gpu, h);
        for (int i = 0; i < MEMBERS; i++) {
            assert_true(h->allocator.live > 0);
            destroy(h, (order + i * step) % MEMBERS);
        }
        if (h->allocator.live != 0)
            fail_msg("order %d: %zu blocks of host memory are left", order, h->allocator.live);
    }
    free(h);
}

static void test_destroy_context_says_what_lives_on(void **state)
{
    household *h = malloc(sizeof *h);
    assert_non_null(h);
    make(vkf_test_gpu_of(state), h);
    destroy(h, GENERATOR);
    destroy(h, EMBEDDER);
    destroy(h, WEIGHTS);
    vkf_context_destroy(&h->gpu.context);
    assert_null(h->gpu.context);
    assert_int_equal(h->warnings.count, 1);
    assert_non_null(strstr(h->warnings.last, "1 buffer, 1 layer, 1 model, 1 session made from the context live on"));
    for (int member = BUFFER; member < MEMBERS; member++)
        destroy(h, member);
    assert_int_equal(h->allocator.live, 0);
    free(h);
}

static void test_destroy_context_last_says_nothing(void **state)
{
    household *h = malloc(sizeof *h);
    assert_non_null(h);
    make(vkf_test_gpu_of(state), h);
    for (int member = MEMBERS - 1; member >= CONTEXT; member--)
        destroy(h, member);
    assert_int_equal(h->warnings.count, 0);
    free(h);
}

// What others need keeps working when its owner has destroyed it.
static void test_run_what_is_left(void **state)
{
    const int32_t prompt[] = {5, 6};
    const uint32_t length = 2;
    int32_t before[3], after[3];
    uint32_t made = 0;
    vkf_generate_args args = {.batch = 1, .prompt_ids = prompt, .prompt_lengths = &length, .max_new_tokens = 3};
    args.out_lengths = &made;
    household *h = malloc(sizeof *h);
    assert_non_null(h);
    make(vkf_test_gpu_of(state), h);
    args.out_ids = before;
    assert_int_equal(vkf_session_generate(h->session, &args), VKF_OK);
    destroy(h, MODEL);
    destroy(h, CONTEXT);
    args.out_ids = after;
    assert_int_equal(vkf_session_generate(h->session, &args), VKF_OK);
    assert_memory_equal(before, after, sizeof before);
    for (int member = BUFFER; member < MEMBERS; member++)
        destroy(h, member);
    free(h);
}

static void test_run_layer_without_its_weights(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        sample_weights weights, others;
        sample_data data;
        vkf_layer *layer = NULL;
        sample_weights_create(gpu, &weights);
        sample_data_create(&gpu->random, sizes, &data);
        assert_int_equal(sample_layer_create(gpu->context, kind, &weights, sizes, &layer), VKF_OK);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        size_t bytes = sample_data_outputs(&data) * sizeof(float);
        float *before = malloc(bytes);
        assert_non_null(before);
        memcpy(before, data.out, bytes);
        sample_weights_destroy(&weights);
        sample_weights_create(gpu, &others); // in the memory that the first ones would have left
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        assert_memory_equal(before, data.out, bytes);
        vkf_layer_destroy(&layer);
        sample_weights_destroy(&others);
        sample_data_destroy(&data);
        free(before);
    }
}

static void assert_refused(vkf_test_gpu *gpu, vkf_status status, const char *tensor)
{
    char expected[128];
    (void)snprintf(expected, sizeof expected, "tensor %s: its buffer is of another context, or was destroyed", tensor);
    vkf_test_expect(gpu, status, VKF_ERROR_INVALID_ARGUMENT, expected);
    gpu->last_error[0] = '\0';
}

// The output of one layer is the input of the next, which outlives it.
static void test_run_layer_without_the_one_before(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const uint32_t shape[] = {SAMPLE_DIM, SAMPLE_DIM};
    vkf_tensor weight = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    vkf_feed_forward_desc desc = {.d_model = SAMPLE_DIM,
                                  .dim_feedforward = SAMPLE_DIM,
                                  .params = {.weight1 = weight, .weight2 = weight},
                                  .max_sizes = sizes};
    vkf_layer *first = NULL, *second = NULL;
    vkf_tensor stale;
    assert_int_equal(vkf_feed_forward_create(gpu->context, &desc, &first), VKF_OK);
    assert_true(vkf_layer_get_port(first, VKF_PORT_OUTPUT, &desc.ports[VKF_PORT_QUERY]));
    assert_true(vkf_layer_get_port(first, VKF_PORT_QUERY, &stale));
    assert_int_equal(vkf_feed_forward_create(gpu->context, &desc, &second), VKF_OK);
    vkf_layer_destroy(&first);
    vkf_tensor_destroy(&weight);
    assert_int_equal(vkf_layer_run(second, &sizes), VKF_OK);
    assert_refused(gpu, vkf_copy(gpu->context, &stale, &desc.ports[VKF_PORT_QUERY]), "x");
    vkf_layer_destroy(&second);
}

static void test_tensors_of_another_context_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_gpu *other = malloc(sizeof *other);
    vkf_context_desc desc = {0};
    const uint32_t shape[] = {SAMPLE_DIM, SAMPLE_DIM};
    vkf_layer *layer = NULL;
    vkf_tensor packed;
    assert_non_null(other);
    assert_int_equal(vkf_test_gpu_open(other, &desc), 0);
    vkf_tensor own = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    vkf_tensor foreign = vkf_test_tensor_raw(other, VKF_DTYPE_F32, 2, shape, NULL);
    const vkf_feed_forward_desc block = {.d_model = SAMPLE_DIM,
                                         .dim_feedforward = SAMPLE_DIM,
                                         .params = {.weight1 = own, .weight2 = foreign},
                                         .max_sizes = sizes};
    assert_refused(gpu, vkf_copy(gpu->context, &own, &foreign), "out");
    assert_refused(gpu, vkf_pack_weight(gpu->context, &foreign, "packed", &packed), "weight");
    assert_refused(gpu, vkf_feed_forward_create(gpu->context, &block, &layer), "weight2");
    vkf_tensor_destroy(&own);
    vkf_tensor_destroy(&foreign);
    vkf_context_destroy(&other->context);
    vkf_test_assert_silent(gpu);
    free(other);
}

static void test_tensor_without_its_buffer_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const uint32_t shape[] = {SAMPLE_DIM, SAMPLE_DIM};
    vkf_tensor x = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    vkf_tensor out = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    const vkf_tensor stale = x;
    vkf_tensor_destroy(&x);
    assert_refused(gpu, vkf_copy(gpu->context, &stale, &out), "x");
    vkf_tensor_destroy(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_destroy_in_any_order),
        cmocka_unit_test(test_destroy_context_says_what_lives_on),
        cmocka_unit_test(test_destroy_context_last_says_nothing),
        cmocka_unit_test(test_run_what_is_left),
        cmocka_unit_test(test_run_layer_without_its_weights),
        cmocka_unit_test(test_run_layer_without_the_one_before),
        cmocka_unit_test(test_tensors_of_another_context_are_refused),
        cmocka_unit_test(test_tensor_without_its_buffer_is_refused),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
