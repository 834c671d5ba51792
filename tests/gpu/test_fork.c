// A child of fork(): what it got from its parent gives a status or nothing, at once; a context of its own works.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pretrained.h"
#include "sample_layers.h"

#define CHILD_SECONDS 120 // then it hangs

static const vkf_layer_sizes sizes = {1, 4, 4};

typedef struct inheritance {
    vkf_test_gpu *gpu;
    sample_weights weights;
    vkf_layer *layer;
    vkf_tensor tensor;
    vkf_model *model;
    vkf_session *session;
    vkf_generator *generator;
    vkf_embedder *embedder;
    vkf_vocabulary *vocabulary;
} inheritance;

static void make(vkf_test_gpu *gpu, inheritance *out)
{
    const uint32_t shape[] = {4, 4};
    const vkf_session_desc desc = {.max_batch = 1, .max_target_len = 8};
    vkf_generator_desc generator = {.max_context = 8};
    vkf_embedder_desc embedder = {.max_batch = 1, .max_tokens = 8};
    const char *demo = VKF_TEST_SOURCE_DIR "/tools/demo-model";
    *out = (inheritance){.gpu = gpu};
    sample_weights_create(gpu, &out->weights);
    assert_int_equal(sample_layer_create(gpu->context, SAMPLE_ENCODER, &out->weights, sizes, &out->layer), VKF_OK);
    out->tensor = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    out->model = vkf_test_load_pretrained(gpu, vkf_test_pretrained("llama"), VKF_MODEL_PRECISION_F32);
    assert_int_equal(vkf_session_create(out->model, &desc, &out->session), VKF_OK);
    generator.directory = vkf_test_pretrained("llama");
    assert_int_equal(vkf_generator_create(gpu->context, &generator, &out->generator), VKF_OK);
    embedder.directory = vkf_test_pretrained("bert");
    assert_int_equal(vkf_embedder_create(gpu->context, &embedder, &out->embedder), VKF_OK);
    assert_int_equal(vkf_vocabulary_load(gpu->context, demo, &out->vocabulary), VKF_OK);
}

static void give_up(inheritance *it)
{
    vkf_vocabulary_destroy(&it->vocabulary);
    vkf_embedder_destroy(&it->embedder);
    vkf_generator_destroy(&it->generator);
    vkf_session_destroy(&it->session);
    vkf_model_destroy(&it->model);
    vkf_tensor_destroy(&it->tensor);
    vkf_layer_destroy(&it->layer);
    sample_weights_destroy(&it->weights);
}

static vkf_status generate(vkf_session *session)
{
    const int32_t prompt = 5;
    const uint32_t length = 1;
    int32_t id = 0;
    uint32_t made = 0;
    const vkf_generate_args args = {.batch = 1,
                                    .prompt_ids = &prompt,
                                    .prompt_lengths = &length,
                                    .max_new_tokens = 1,
                                    .out_ids = &id,
                                    .out_lengths = &made};
    return vkf_session_generate(session, &args);
}

// What the child's context said stands in the child's memory alone.
static int say_step(int step, const inheritance *it)
{
    if (step != 0)
        (void)fprintf(stderr, "step %d in the child: %s\n", step, it->gpu->last_error);
    return step;
}

// Runs `body` in a child, which gives 0 when all was well, and the number of its step where it was not.
static void in_child(int (*body)(inheritance *it), inheritance *it)
{
    int how = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        _exit(say_step(body(it), it));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WIFSIGNALED(how))
        fail_msg("the child ended by signal %d%s", WTERMSIG(how), WTERMSIG(how) == SIGALRM ? ": it hung" : "");
    if (WEXITSTATUS(how) != 0)
        fail_msg("the child failed at step %d", WEXITSTATUS(how));
}

#define REFUSED(step, call)                                                                                     \
    do {                                                                                                        \
        it->gpu->last_error[0] = '\0';                                                                          \
        if ((call) != VKF_ERROR_INVALID_ARGUMENT || !strstr(it->gpu->last_error, "a child of fork() makes a ")) \
            return step;                                                                                        \
    } while (0)

static int use(inheritance *it)
{
    float values[16];
    REFUSED(1, vkf_tensor_read(&it->tensor, values, sizeof values));
    REFUSED(2, vkf_copy(it->gpu->context, &it->tensor, &it->tensor));
    REFUSED(3, vkf_layer_run(it->layer, &sizes));
    REFUSED(4, generate(it->session));
    return 0;
}

static int destroy(inheritance *it)
{
    const vkf_context *context = it->gpu->context;
    give_up(it);
    vkf_context_destroy(&it->gpu->context);
    return context && !it->gpu->context && !it->vocabulary && !it->embedder && !it->generator && !it->session &&
                   !it->model && !it->layer
               ? 0
               : 1;
}

static int begin_anew(inheritance *it)
{
    const uint32_t shape[] = {4, 4};
    const vkf_context_desc desc = {.profile = it->gpu->profile, .skip_self_test = true};
    vkf_context *context = NULL;
    vkf_tensor x, out;
    if (vkf_context_create(&desc, &context) != VKF_OK)
        return 1;
    if (vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "x", &x) != VKF_OK ||
        vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "out", &out) != VKF_OK ||
        vkf_copy(context, &x, &out) != VKF_OK)
        return 2;
    vkf_tensor_destroy(&x);
    vkf_tensor_destroy(&out);
    vkf_context_destroy(&context);
    return 0;
}

static void test_child(void **state, int (*body)(inheritance *it))
{
    inheritance it;
    make(vkf_test_gpu_of(state), &it);
    in_child(body, &it);
    // The parent's is as it was.
    assert_int_equal(vkf_layer_run(it.layer, &sizes), VKF_OK);
    assert_int_equal(generate(it.session), VKF_OK);
    give_up(&it);
}

static void test_using_what_is_inherited_is_refused(void **state)
{
    test_child(state, use);
}

static void test_destroying_what_is_inherited_does_nothing(void **state)
{
    test_child(state, destroy);
}

static void test_a_context_of_its_own_works(void **state)
{
    test_child(state, begin_anew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_using_what_is_inherited_is_refused),
        cmocka_unit_test(test_destroying_what_is_inherited_does_nothing),
        cmocka_unit_test(test_a_context_of_its_own_works),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
