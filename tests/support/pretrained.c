// Finds the saved models, and reads what transformers computed.
#include "pretrained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const vkf_test_bound vkf_test_bounds[VKF_MODEL_PRECISION_COUNT] = {
    {VKF_MODEL_PRECISION_F32, 5e-5, 1e-4},
    {VKF_MODEL_PRECISION_F16_WEIGHTS, 2e-2, 2e-2},
    {VKF_MODEL_PRECISION_BF16_WEIGHTS, 1.6e-1, 1.6e-1},
    {VKF_MODEL_PRECISION_F16, 3e-2, 3e-2},
};

const vkf_test_generation vkf_test_generations[VKF_TEST_GENERATIONS] = {
    {"penalty", {0}, 1.5f},
    {"beam", {.num_beams = 3, .length_penalty = 0.8f, .early_stopping = VKF_EARLY_STOPPING_ON}, 0},
    {"beam_off", {.num_beams = 2, .length_penalty = 1.3f, .early_stopping = VKF_EARLY_STOPPING_OFF}, 0},
    {"beam_never", {.num_beams = 4, .length_penalty = 2.0f, .early_stopping = VKF_EARLY_STOPPING_NEVER}, 1.5f},
    {"beam_short", {.num_beams = 4, .length_penalty = -0.5f, .early_stopping = VKF_EARLY_STOPPING_OFF}, 0},
};

const int32_t *vkf_test_generated(const vkf__tensor_file *file, unsigned number, const vkf_test_generation *how)
{
    char full[32];
    (void)snprintf(full, sizeof full, "%u.%s", number, how->name);
    const vkf__stored_tensor *tensor = vkf__tensor_file_find(file, full);
    return tensor ? (const int32_t *)tensor->data : NULL;
}

const char *vkf_test_pretrained(const char *family)
{
    static char path[256];
    const char *root = getenv("VKF_TEST_PRETRAINED");
    (void)snprintf(path, sizeof path, "%s/%s", root ? root : VKF_TEST_SOURCE_DIR "/tests/pretrained", family);
    return path;
}

// The bytes of an open file; they are kept until the test program ends.
typedef struct opened {
    struct opened *next;
    vkf__file_bytes bytes;
} opened;

static opened *all_opened;

vkf__tensor_file *vkf_test_open_safetensors(const char *directory, const char *name)
{
    vkf__host host;
    vkf__tensor_file *file = NULL;
    char path[512];
    opened *o = calloc(1, sizeof *o);
    assert_non_null(o);
    o->next = all_opened;
    all_opened = o;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_WARNING), VKF_OK);
    assert_int_equal(vkf__file_read(&host, path, SIZE_MAX - 1, &o->bytes), VKF_OK);
    assert_int_equal(vkf__safetensors_open_memory(&host, path, o->bytes.data, o->bytes.size_bytes, &file), VKF_OK);
    return file;
}

const vkf__stored_tensor *vkf_test_case_tensor(const vkf__tensor_file *file, unsigned number, const char *name)
{
    char full[32];
    (void)snprintf(full, sizeof full, "%u.%s", number, name);
    const vkf__stored_tensor *tensor = vkf__tensor_file_find(file, full);
    if (!tensor)
        fail_msg("%s: no tensor %s", vkf__tensor_file_path(file), full);
    return tensor;
}

vkf__stored_tensor *vkf_test_copy_tensors(const vkf__tensor_file *file, size_t more)
{
    const size_t count = vkf__tensor_file_count(file);
    vkf__stored_tensor *tensors = calloc(count + more, sizeof *tensors);
    assert_non_null(tensors);
    for (size_t i = 0; i < count; i++)
        tensors[i] = *vkf__tensor_file_at(file, i);
    return tensors;
}

vkf_model *vkf_test_load_pretrained(vkf_test_gpu *gpu, const char *directory, vkf_model_precision precision)
{
    return vkf_test_load(gpu, &(vkf_model_desc){.directory = directory, .precision = precision});
}

vkf_model *vkf_test_load_family(vkf_test_gpu *gpu, const char *family)
{
    return vkf_test_load_pretrained(gpu, vkf_test_pretrained(family), VKF_MODEL_PRECISION_F32);
}

vkf_test_saved vkf_test_saved_open(vkf_test_gpu *gpu, const char *family, vkf_model_precision precision)
{
    const char *directory = vkf_test_pretrained(family);
    return (vkf_test_saved){
        .cases = vkf_test_open_safetensors(directory, "cases.safetensors"),
        .model = vkf_test_load_pretrained(gpu, directory, precision),
    };
}

void vkf_test_saved_close(vkf_test_saved *saved)
{
    assert_int_equal(vkf_session_get_record_count(saved->session),
                     vkf_session_get_command_buffer_count(saved->session));
    vkf_session_destroy(&saved->session);
    vkf_model_destroy(&saved->model);
    vkf__tensor_file_close(&saved->cases);
}

void vkf_test_plans_are_allocated(vkf_test_gpu *gpu, const char *family, const vkf_session_desc *desc)
{
    const vkf_model_desc model_desc = {.directory = vkf_test_pretrained(family)};
    vkf_memory_plan whole, plan, ahead;
    assert_int_equal(vkf_model_plan(gpu->context, &model_desc, &whole), VKF_OK);
    assert_int_equal(vkf_model_plan_session(gpu->context, &model_desc, desc, &ahead), VKF_OK);
    vkf_memory_usage before = vkf_test_usage(gpu);
    vkf_model *model = vkf_test_load(gpu, &model_desc);
    vkf_test_assert_took(gpu, &before, &whole);
    before = vkf_test_usage(gpu);
    assert_int_equal(vkf_session_plan(model, desc, &plan), VKF_OK);
    assert_memory_equal(plan.heap_bytes, ahead.heap_bytes, sizeof plan.heap_bytes);
    vkf_session *session = vkf_test_make_session(gpu, model, desc);
    vkf_test_assert_took(gpu, &before, &plan);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

double vkf_test_scale(const float *values, size_t count)
{
    double most = 1;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)values[i]));
    return most;
}

bool vkf_test_in_full(vkf_test_gpu *gpu)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)gpu;
    return false;
#else
    vkf_device_info device;
    vkf_context_get_device_info(gpu->context, &device);
    return gpu->profile == VKF_CAPS_PROFILE_FULL && strstr(device.name, "llvmpipe");
#endif
}

bool vkf_test_has_turn(vkf_test_gpu *gpu, vkf_model_precision precision)
{
    return precision == VKF_MODEL_PRECISION_F32 || precision == VKF_MODEL_PRECISION_F16 || vkf_test_in_full(gpu);
}

// Copies a model's directory, with every third element of one tensor half as large again.
static void write_changed(vkf_test_directory *to, const char *from, const vkf__tensor_file *file, size_t changed)
{
    vkf__stored_tensor *tensors = vkf_test_copy_tensors(file, 0);
    float *values = calloc(tensors[changed].count, sizeof *values);
    assert_non_null(values);
    assert_true(vkf__stored_to_f32(&tensors[changed], 0, tensors[changed].count, values));
    for (uint64_t i = 0; i < tensors[changed].count; i += 3) // not all of it: a norm may follow
        values[i] *= 1.5f;
    tensors[changed].data = (const uint8_t *)values;
    vkf_test_write_model(to, from, tensors, vkf__tensor_file_count(file));
    free(values);
    free(tensors);
}

static bool ends_with(const char *text, const char *suffix)
{
    const size_t length = strlen(text), ending = strlen(suffix);
    return length >= ending && strcmp(text + length - ending, suffix) == 0;
}

static void write_replaced(const char *path, const char *from, const char *to, const char *new_path)
{
    size_t bytes = 0;
    char *text = vkf_test_read_file(path, &bytes), *place = strstr(text, from);
    char *changed = calloc(bytes + strlen(to) + 1, 1);
    assert_true(place && changed);
    memcpy(changed, text, (size_t)(place - text));
    strcat(strcat(changed, to), place + strlen(from));
    vkf_test_write_file(new_path, changed, strlen(changed));
    free(changed);
    free(text);
}

void vkf_test_copy_without(const char *family, const char *suffix, const char *from, const char *to,
                           vkf_test_directory *out_directory)
{
    vkf__tensor_file *file = vkf_test_open_safetensors(vkf_test_pretrained(family), "model.safetensors");
    vkf__stored_tensor *tensors = calloc(vkf__tensor_file_count(file), sizeof *tensors);
    size_t count = 0;
    char path[512];
    assert_non_null(tensors);
    for (size_t i = 0; i < vkf__tensor_file_count(file); i++)
        if (!ends_with(vkf__tensor_file_at(file, i)->name, suffix))
            tensors[count++] = *vkf__tensor_file_at(file, i);
    assert_true(count < vkf__tensor_file_count(file));
    vkf_test_directory_make(out_directory);
    vkf_test_write_model(out_directory, vkf_test_pretrained(family), tensors, count);
    (void)snprintf(path, sizeof path, "%s/config.json", vkf_test_pretrained(family));
    write_replaced(path, from, to, vkf_test_path(out_directory, "config.json"));
    free(tensors);
    vkf__tensor_file_close(&file);
}

static void check_every_tensor(vkf_test_gpu *gpu, const char *family, bool (*without_effect)(const char *name),
                               vkf_test_differs_fn differs)
{
    vkf__tensor_file *weights = vkf_test_open_safetensors(vkf_test_pretrained(family), "model.safetensors");
    vkf__tensor_file *cases = vkf_test_open_safetensors(vkf_test_pretrained(family), "cases.safetensors");
    for (size_t i = 0; i < vkf__tensor_file_count(weights); i++) {
        const char *name = vkf__tensor_file_at(weights, i)->name;
        vkf_test_directory changed;
        if (without_effect && without_effect(name))
            continue;
        vkf_test_directory_make(&changed);
        write_changed(&changed, vkf_test_pretrained(family), weights, i);
        vkf_model *model = vkf_test_load_pretrained(gpu, changed.path, VKF_MODEL_PRECISION_F32);
        if (!differs(gpu, model, cases))
            fail_msg("%s: %s has no effect", family, name);
        vkf_model_destroy(&model);
        vkf_test_directory_remove(&changed);
    }
    vkf__tensor_file_close(&cases);
    vkf__tensor_file_close(&weights);
}

void vkf_test_every_tensor_counts(vkf_test_gpu *gpu, const char *const *families, size_t count,
                                  bool (*without_effect)(const char *name), vkf_test_differs_fn differs)
{
    for (size_t f = 0; f < (vkf_test_in_full(gpu) ? count : 1); f++)
        check_every_tensor(gpu, families[f], without_effect, differs);
}
