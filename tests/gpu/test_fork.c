// A child of fork(): what it got from its parent gives a status or nothing, at once; a context of its own works.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shared_library.h"
#include "pretrained.h"
#include "sample_layers.h"
#include "vk/new_declarations.h"

#define CHILD_SECONDS 120 // then it hangs
#define DRIVER_REFUSES 77 // exit status of a child

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
    vkf_tokenizer *tokenizer; // of no context
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
    out->model = vkf_test_load_family(gpu, "llama");
    out->session = vkf_test_make_session(gpu, out->model, &desc);
    generator.directory = vkf_test_pretrained("llama");
    out->generator = vkf_test_make_generator(gpu, &generator);
    embedder.directory = vkf_test_pretrained("bert");
    out->embedder = vkf_test_make_embedder(gpu, &embedder);
    assert_int_equal(vkf_vocabulary_load(gpu->context, demo, &out->vocabulary), VKF_OK);
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = vkf_test_pretrained("llama")}, &out->tokenizer),
                     VKF_OK);
}

static void give_up(inheritance *it)
{
    vkf_tokenizer_destroy(&it->tokenizer);
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

static const vkf_text text = {"ab", 2};

static vkf_status continue_text(vkf_generator *generator)
{
    vkf_continuation continuation = {0};
    const vkf_generator_args args = {
        .prompts = &text, .count = 1, .max_new_tokens = 1, .out_continuations = &continuation};
    vkf_status status = vkf_generator_run(generator, &args);
    vkf_continuation_free(&continuation);
    return status;
}

static vkf_status embed(vkf_embedder *embedder)
{
    float embedding[1024];
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    if (config.embedding_dim > sizeof embedding / sizeof embedding[0])
        return VKF_ERROR_TOO_LARGE;
    const vkf_embed_args args = {.texts = &text, .count = 1, .out_embeddings = embedding};
    return vkf_embedder_run(embedder, &args);
}

static vkf_status count_tokens(const vkf_tokenizer *tokenizer)
{
    vkf_encoding encoding = {0};
    vkf_status status = vkf_tokenizer_encode(tokenizer, &text, NULL, NULL, &encoding);
    if (status == VKF_OK && encoding.count == 0)
        status = VKF_ERROR_FORMAT;
    vkf_encoding_free(&encoding);
    return status;
}

static vkf_status count_source_tokens(const vkf_vocabulary *vocabulary)
{
    uint32_t count = 0;
    vkf_status status = vkf_vocabulary_encode(vocabulary, text.bytes, text.size_bytes, &count, NULL);
    return status == VKF_OK && count == 0 ? VKF_ERROR_FORMAT : status;
}

// What the child's context said stands in the child's memory alone.
static int say_step(int step, const inheritance *it)
{
    if (step != 0 && step != DRIVER_REFUSES)
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
    if (WEXITSTATUS(how) == DRIVER_REFUSES) {
        give_up(it);
        printf("skipped: in a child of a process that has used it, the driver itself gives no device\n");
        skip();
    }
    if (WEXITSTATUS(how) != 0)
        fail_msg("the child failed at step %d", WEXITSTATUS(how));
}

// The message names the function that was called.
#define REFUSED(step, function, call)                                                          \
    do {                                                                                       \
        it->gpu->last_error[0] = '\0';                                                         \
        if ((call) != VKF_ERROR_INVALID_ARGUMENT || !says(it->gpu->last_error, function ": ")) \
            return step;                                                                       \
    } while (0)

static bool says(const char *message, const char *beginning)
{
    return strncmp(message, beginning, strlen(beginning)) == 0 && strstr(message, "a child of fork() makes a ");
}

static int use(inheritance *it)
{
    float values[16];
    vkf_vocabulary *vocabulary = NULL;
    REFUSED(1, "vkf_tensor_read", vkf_tensor_read(&it->tensor, values, sizeof values));
    REFUSED(2, "vkf_copy", vkf_copy(it->gpu->context, &it->tensor, &it->tensor));
    REFUSED(3, "vkf_layer_run", vkf_layer_run(it->layer, &sizes));
    REFUSED(4, "vkf_session_generate", generate(it->session));
    REFUSED(5, "vkf_generator_run", continue_text(it->generator));
    REFUSED(6, "vkf_embedder_run", embed(it->embedder));
    REFUSED(7, "vkf_vocabulary_load", vkf_vocabulary_load(it->gpu->context, "", &vocabulary));
    return 0;
}

// Text that becomes ids on the host alone touches neither device nor lock.
static int use_host(inheritance *it)
{
    if (count_tokens(it->tokenizer) != VKF_OK)
        return 1;
    return count_source_tokens(it->vocabulary) == VKF_OK ? 0 : 2;
}

static int destroy(inheritance *it)
{
    const vkf_context *context = it->gpu->context;
    give_up(it);
    vkf_context_destroy(&it->gpu->context);
    return context && !it->gpu->context && !it->tokenizer && !it->vocabulary && !it->embedder && !it->generator &&
                   !it->session && !it->model && !it->layer && !it->tensor.buffer
               ? 0
               : 1;
}

#define FUNCTION(name) PFN_##name name = (PFN_##name)get_proc(instance, #name)

// The device's own, by its name; null where it is not listed.
static VkPhysicalDevice find_device(PFN_vkGetInstanceProcAddr get_proc, VkInstance instance, const char *name)
{
    VkPhysicalDevice devices[16];
    VkPhysicalDeviceProperties properties;
    uint32_t count = sizeof devices / sizeof devices[0];
    FUNCTION(vkEnumeratePhysicalDevices);
    FUNCTION(vkGetPhysicalDeviceProperties);
    if (vkEnumeratePhysicalDevices(instance, &count, devices) < VK_SUCCESS)
        return VK_NULL_HANDLE;
    for (uint32_t i = 0; i < count; i++) {
        vkGetPhysicalDeviceProperties(devices[i], &properties);
        if (strcmp(properties.deviceName, name) == 0)
            return devices[i];
    }
    return VK_NULL_HANDLE;
}

// Whether Vulkan, asked without the library, makes a device in this process.
static bool driver_gives_device(const char *name)
{
    const char *why;
    void *library = vkf__library_open("libvulkan.so.1", &why);
    PFN_vkGetInstanceProcAddr get_proc = (PFN_vkGetInstanceProcAddr)vkf__library_find(library, "vkGetInstanceProcAddr");
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                                .pApplicationInfo = &application};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkDeviceCreateInfo device_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    VkInstance instance = VK_NULL_HANDLE;
    VkDevice device;
    FUNCTION(vkCreateInstance);
    if (vkCreateInstance(&instance_info, NULL, &instance) != VK_SUCCESS)
        return false;
    FUNCTION(vkCreateDevice);
    const VkPhysicalDevice physical = find_device(get_proc, instance, name);
    return physical != VK_NULL_HANDLE && vkCreateDevice(physical, &device_info, NULL, &device) == VK_SUCCESS;
}

static void hear(void *user, vkf_severity severity, const char *message)
{
    vkf_test_gpu *gpu = user;
    if (severity == VKF_SEVERITY_ERROR)
        (void)snprintf(gpu->last_error, sizeof gpu->last_error, "%s", message);
}

static int begin_anew(inheritance *it)
{
    const uint32_t shape[] = {4, 4};
    const vkf_context_desc desc = {
        .profile = it->gpu->profile, .skip_self_test = true, .message = hear, .message_user = it->gpu};
    vkf_context *context = NULL;
    vkf_device_info info;
    vkf_tensor x, out;
    vkf_context_get_device_info(it->gpu->context, &info);
    if (vkf_context_create(&desc, &context) != VKF_OK)
        return driver_gives_device(info.name) ? 1 : DRIVER_REFUSES;
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
    assert_int_equal(continue_text(it.generator), VKF_OK);
    assert_int_equal(embed(it.embedder), VKF_OK);
    assert_int_equal(use_host(&it), 0);
    give_up(&it);
}

static void test_using_what_is_inherited_is_refused(void **state)
{
    test_child(state, use);
}

static void test_what_needs_no_device_works(void **state)
{
    test_child(state, use_host);
}

static void test_destroying_what_is_inherited_does_nothing(void **state)
{
    test_child(state, destroy);
}

static void test_a_context_of_its_own_works(void **state)
{
    vkf_test_skip_if_children_have_no_threads(vkf_test_gpu_of(state));
    test_child(state, begin_anew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_using_what_is_inherited_is_refused),
        cmocka_unit_test(test_what_needs_no_device_works),
        cmocka_unit_test(test_destroying_what_is_inherited_does_nothing),
        cmocka_unit_test(test_a_context_of_its_own_works),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
