// Saves what a training is at beside its weights: the optimiser's moments as tensors, and the counters as strings.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/path.h"
#include "io/safetensors.h"
#include "model/family/weight_names.h"
#include "model/load/finite.h"
#include "training/train_checkpoint.h"

#define VERSION 1
#define CHUNK_BYTES (UINT64_C(4) << 20)
#define NAME_BYTES (VKF_WEIGHT_NAME_MAX + 16)

// ---- counters

// The counters as numbers; floats are their bits, so that what is read is what was written.
enum {
    FORMAT,
    MOMENTS,
    STEP,
    SKIPPED,
    EXAMPLES,
    SEED,
    LOSS_SCALE,
    COUNTED,
    BEST,
    BEST_STEP,
    SETTINGS,
    BASE,
    COUNTER_COUNT
};

static const char *const keys[COUNTER_COUNT] = {
    [FORMAT] = "vkformer.training", [MOMENTS] = "moments",       [STEP] = "step",
    [SKIPPED] = "skipped",          [EXAMPLES] = "examples",     [SEED] = "seed",
    [LOSS_SCALE] = "loss_scale",    [COUNTED] = "scale_counted", [BEST] = "best",
    [BEST_STEP] = "best_step",      [SETTINGS] = "settings",     [BASE] = "base",
};

static void counters_of(const vkf__train_state *state, uint32_t moments, uint64_t out_counters[COUNTER_COUNT])
{
    uint32_t scale = 0;
    memcpy(&scale, &state->loss_scale, sizeof scale);
    out_counters[FORMAT] = VERSION;
    out_counters[MOMENTS] = moments;
    out_counters[STEP] = state->step;
    out_counters[SKIPPED] = state->skipped;
    out_counters[EXAMPLES] = state->examples;
    out_counters[SEED] = state->seed;
    out_counters[LOSS_SCALE] = scale;
    out_counters[COUNTED] = state->loss_scale_counted;
    memcpy(&out_counters[BEST], &state->best, sizeof state->best);
    out_counters[BEST_STEP] = state->best_step;
    out_counters[SETTINGS] = state->settings;
    out_counters[BASE] = state->base;
}

static vkf__train_state state_of(const uint64_t counters[COUNTER_COUNT])
{
    const uint32_t scale = (uint32_t)counters[LOSS_SCALE];
    vkf__train_state state = {
        .step = counters[STEP],
        .skipped = counters[SKIPPED],
        .examples = counters[EXAMPLES],
        .seed = counters[SEED],
        .loss_scale_counted = (uint32_t)counters[COUNTED],
        .best_step = counters[BEST_STEP],
        .settings = counters[SETTINGS],
        .base = counters[BASE],
    };
    memcpy(&state.loss_scale, &scale, sizeof scale);
    memcpy(&state.best, &counters[BEST], sizeof state.best);
    return state;
}

static json_t *metadata_of(const uint64_t counters[COUNTER_COUNT])
{
    json_t *metadata = json_object();
    for (int i = 0; metadata && i < COUNTER_COUNT; i++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, counters[i]);
        if (json_object_set_new(metadata, keys[i], json_string(text)) == 0)
            continue;
        json_decref(metadata);
        return NULL;
    }
    return metadata;
}

static vkf_status read_counters(const vkf__host *host, const vkf__tensor_file *file,
                                uint64_t out_counters[COUNTER_COUNT])
{
    json_t *metadata = vkf__tensor_file_metadata(file);
    for (int i = 0; i < COUNTER_COUNT; i++) {
        const char *text = json_string_value(json_object_get(metadata, keys[i]));
        if (!text && i == BASE) // of before adapters were saved without their base
            text = "0";
        if (!text || *text == '\0' || strspn(text, "0123456789") != strlen(text))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: is not what a training was at: it does not say '%s'",
                             vkf__tensor_file_path(file), keys[i]);
        out_counters[i] = strtoull(text, NULL, 10);
    }
    return VKF_OK;
}

// ---- moments

// What the moments of a parameter are called. Parameters that are parts of one tensor of a file have its name.
static void name_moments(const vkf__parameters *p, size_t index, char out_name[NAME_BYTES])
{
    const vkf__trainable *t = &p->model->weights.trainable[index];
    size_t used = 0;
    if (index >= p->model->weights.trainable_count) { // parts of one matrix are told apart by their numbers
        snprintf(out_name, NAME_BYTES, "%zu/%.100s", index, p->items[index].name);
        return;
    }
    if (t->module > 0)
        used = (size_t)snprintf(out_name, NAME_BYTES, "%u/", t->module);
    used += (size_t)snprintf(out_name + used, NAME_BYTES - used, "%s", t->slot.name);
    if (t->slot.parts > 0)
        snprintf(out_name + used, NAME_BYTES - used, ".%u", t->slot.part);
}

static vkf__stored_tensor moments_of(const vkf__parameters *p, size_t index, const char *name)
{
    const vkf__parameter *item = &p->items[index];
    vkf__stored_tensor tensor = {.name = name, .type = VKF_STORED_F32, .rank = item->value.rank + 1};
    for (uint32_t d = 0; d < item->value.rank; d++)
        tensor.shape[d] = item->value.shape[d];
    tensor.shape[item->value.rank] = p->moments;
    tensor.size_bytes = item->moments.size_bytes;
    return tensor;
}

typedef struct saving {
    const vkf__parameters *parameters;
    vkf__stored_tensor *tensors;
    size_t *items; // whose moments a tensor is
    char (*names)[NAME_BYTES];
    size_t count;
    uint8_t *chunk;
} saving;

static void saving_free(saving *s)
{
    const vkf__host *host = &s->parameters->model->context->host;
    vkf__free(host, s->tensors);
    vkf__free(host, s->items);
    vkf__free(host, s->names);
    vkf__free(host, s->chunk);
}

// Lists the tensors of a state file.
static vkf_status saving_init(const vkf__parameters *p, saving *out)
{
    const vkf__host *host = &p->model->context->host;
    *out = (saving){.parameters = p};
    VKF_ALLOC_OR_RETURN(host, out->tensors, p->count);
    VKF_ALLOC_OR_RETURN(host, out->items, p->count);
    VKF_ALLOC_OR_RETURN(host, out->names, p->count);
    VKF_ALLOC_OR_RETURN(host, out->chunk, CHUNK_BYTES);
    for (size_t i = 0; i < p->count; i++) {
        if (!vkf__present(&p->items[i].moments))
            continue;
        name_moments(p, i, out->names[out->count]);
        out->tensors[out->count] = moments_of(p, i, out->names[out->count]);
        out->items[out->count++] = i;
    }
    return VKF_OK;
}

static vkf_status write_moments(void *user, size_t index, vkf__new_file *file)
{
    const saving *s = user;
    const vkf__span *from = &s->parameters->items[s->items[index]].moments;
    for (uint64_t done = 0; done < from->size_bytes; done += CHUNK_BYTES) {
        const uint64_t left = from->size_bytes - done, most = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        VKF_RETURN_IF_ERROR(vkf_buffer_read(from->buffer, from->offset_bytes + done, s->chunk, most));
        VKF_RETURN_IF_ERROR(vkf__new_file_write(file, s->chunk, (size_t)most));
    }
    return VKF_OK;
}

vkf_status vkf__checkpoint_save_state(const vkf__parameters *p, const vkf__train_state *state, const char *path)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &p->model->context->host;
    uint64_t counters[COUNTER_COUNT];
    json_t *metadata = NULL;
    saving s;
    VKF_TRY(saving_init(p, &s));
    counters_of(state, p->moments, counters);
    metadata = metadata_of(counters);
    if (!metadata)
        VKF_TRY(vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its metadata", path));
    VKF_TRY(vkf__safetensors_write_made(host, path, s.tensors, s.count, metadata, write_moments, &s));
fail:
    json_decref(metadata);
    saving_free(&s);
    return status;
}

// ---- reading

static vkf_status check_counters(const vkf__parameters *p, const vkf__train_state *state, const char *path,
                                 const uint64_t counters[COUNTER_COUNT])
{
    const vkf__host *host = &p->model->context->host;
    if (counters[FORMAT] != VERSION)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: is of version %" PRIu64 ", and this library reads %d", path,
                         counters[FORMAT], VERSION);
    if (counters[SETTINGS] != state->settings)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: belongs to a training with other settings; give those, or begin anew", path);
    if (counters[BASE] != state->base)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: is of an adapter of another model than this: load that one",
                         path);
    if (counters[MOMENTS] != p->moments)
        return vkf__fail(host, VKF_ERROR_FORMAT,
                         "%s: has %" PRIu64 " moments to a parameter, and this optimiser keeps %u", path,
                         counters[MOMENTS], p->moments);
    return VKF_OK;
}

static bool same_shape(const vkf__stored_tensor *a, const vkf__stored_tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (uint32_t d = 0; same && d < a->rank; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

static vkf_status check_tensors(const vkf__host *host, const saving *s, const vkf__tensor_file *file)
{
    const char *path = vkf__tensor_file_path(file);
    for (size_t i = 0; i < s->count; i++) {
        const vkf__stored_tensor *found = vkf__tensor_file_find(file, s->names[i]);
        if (!found)
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: has no moments of %s: it is of another model, or %s", path,
                             s->names[i], "that was frozen");
        if (!same_shape(found, &s->tensors[i]))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: the moments of %s have another shape than this model's", path,
                             s->names[i]);
    }
    for (size_t i = 0; vkf__tensor_file_count(file) > s->count; i++) {
        const char *name = vkf__tensor_file_at(file, i)->name;
        size_t at = 0;
        while (at < s->count && strcmp(s->names[at], name) != 0)
            at++;
        if (at == s->count)
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: has moments of %s, which does not train here", path, name);
    }
    return VKF_OK;
}

// With `check` they are only looked at.
static vkf_status read_moments(const saving *s, size_t index, const vkf__tensor_file *file, bool check)
{
    const vkf__host *host = &s->parameters->model->context->host;
    const vkf__stored_tensor *from = vkf__tensor_file_find(file, s->names[index]);
    const vkf__span *to = &s->parameters->items[s->items[index]].moments;
    for (uint64_t done = 0; done < to->size_bytes; done += CHUNK_BYTES) {
        const uint64_t left = to->size_bytes - done, most = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        const uint64_t count = most / sizeof(float);
        VKF_RETURN_IF_ERROR(vkf__stored_read(from, done, most, s->chunk));
        if (vkf__first_not_finite(VKF_DTYPE_F32, s->chunk, count) < count)
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: a moment of %s is not a finite number",
                             vkf__tensor_file_path(file), s->names[index]);
        if (!check)
            VKF_RETURN_IF_ERROR(vkf_buffer_write(to->buffer, to->offset_bytes + done, s->chunk, most));
    }
    return VKF_OK;
}

vkf_status vkf__checkpoint_load_state(const vkf__parameters *p, const char *path, bool check,
                                      vkf__train_state *inout_state)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &p->model->context->host;
    uint64_t counters[COUNTER_COUNT];
    vkf__tensor_file *file = NULL;
    saving s;
    VKF_TRY(saving_init(p, &s));
    VKF_TRY(vkf__safetensors_open(host, path, &file));
    VKF_TRY(read_counters(host, file, counters));
    VKF_TRY(check_counters(p, inout_state, path, counters));
    VKF_TRY(check_tensors(host, &s, file));
    for (size_t i = 0; i < s.count; i++)
        VKF_TRY(read_moments(&s, i, file, check));
    VKF_TRY(vkf__tensor_file_check_unchanged(file));
    if (!check)
        *inout_state = state_of(counters);
fail:
    vkf__tensor_file_close(&file);
    saving_free(&s);
    return status;
}

vkf_status vkf__checkpoint_read_state(const vkf__host *host, const char *directory, vkf__train_state *out_state)
{
    vkf_status status = VKF_OK;
    uint64_t counters[COUNTER_COUNT];
    vkf__tensor_file *file = NULL;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, VKF_CHECKPOINT_FILE, &path));
    VKF_TRY(vkf__safetensors_open(host, path, &file));
    VKF_TRY(read_counters(host, file, counters));
    *out_state = state_of(counters);
fail:
    vkf__tensor_file_close(&file);
    vkf__free(host, path);
    return status;
}
