// Writes an adapter as PEFT does, and reads it back.
#include <stdio.h>
#include <stdlib.h>

#include "base/system_file.h"
#include "io/path.h"
#include "io/safetensors.h"
#include "model/family/model_kind.h"
#include "model/load/adapter.h"
#include "model/load/adapter_write.h"
#include "model/load/finite.h"
#include "training/lora.h"

// Everything that goes into the two files, on the host.
typedef struct saving {
    const vkf__lora *lora;
    vkf__adapter_pair *pairs;
    float *values; // of pairs, then of `saved`
    size_t used;   // of `values`
    vkf__stored_tensor *saved;
    const char **saved_modules;
    char (*module_names)[VKF_WEIGHT_NAME_MAX];
    size_t saved_count;
    float *part; // one part's B
} saving;

static void saving_free(saving *s)
{
    const vkf__host *host = &s->lora->model->context->host;
    vkf__free(host, s->pairs);
    vkf__free(host, s->values);
    vkf__free(host, s->saved);
    vkf__free(host, s->saved_modules);
    vkf__free(host, s->module_names);
    vkf__free(host, s->part);
}

static bool is_saved(const vkf__lora *lora, size_t item)
{
    return item < lora->model->weights.trainable_count && vkf__present(&lora->parameters->items[item].gradient);
}

static vkf_status saving_init(const vkf__lora *lora, saving *out)
{
    const vkf__host *host = &lora->model->context->host;
    const vkf__parameters *p = lora->parameters;
    uint64_t floats = 0, largest = 0;
    *out = (saving){.lora = lora};
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t count = p->items[i].gradient.size_bytes / sizeof(float);
        floats += count;
        largest = count > largest ? count : largest;
    }
    VKF_ALLOC_OR_RETURN(host, out->pairs, lora->count);
    VKF_ALLOC_OR_RETURN(host, out->values, floats);
    VKF_ALLOC_OR_RETURN(host, out->part, largest);
    VKF_ALLOC_OR_RETURN(host, out->saved, p->count);
    VKF_ALLOC_OR_RETURN(host, out->saved_modules, p->count);
    VKF_ALLOC_OR_RETURN(host, out->module_names, p->count);
    return VKF_OK;
}

static vkf_status read_item(const vkf__parameter *item, float *out_values)
{
    const vkf__span value = vkf__span_of(&item->value);
    return vkf_buffer_read(value.buffer, value.offset_bytes, out_values, value.size_bytes);
}

// B in the file's order of rows.
static vkf_status read_b(saving *s, const vkf__lora_module *m, float *out_b)
{
    const uint32_t rank = s->lora->rank;
    for (uint32_t part = 0; part < m->parts; part++) {
        const vkf__parameter *b = &s->lora->parameters->items[m->item + 1 + part];
        VKF_RETURN_IF_ERROR(read_item(b, s->part));
        for (uint32_t row = 0; row < b->value.shape[0]; row++)
            memcpy(out_b + vkf__lora_row(s->lora, m, part, row) * rank, s->part + (size_t)row * rank,
                   rank * sizeof(float));
    }
    return VKF_OK;
}

static vkf_status read_pair(saving *s, size_t index)
{
    const vkf__lora_module *m = &s->lora->modules[index];
    float *a = s->values + s->used, *b = a + (size_t)s->lora->rank * m->in;
    s->used += (size_t)s->lora->rank * (m->in + m->out);
    s->pairs[index] = (vkf__adapter_pair){m->name, a, b, m->in, m->out};
    VKF_RETURN_IF_ERROR(read_item(&s->lora->parameters->items[m->item], a));
    return read_b(s, m, b);
}

static void add_module_name(saving *s, const char *name)
{
    char *module = s->module_names[s->saved_count];
    const char *dot = strrchr(name, '.');
    memcpy(module, name, dot ? (size_t)(dot - name) : strlen(name));
    for (size_t i = 0; i < s->saved_count; i++)
        if (strcmp(s->module_names[i], module) == 0)
            return;
    s->saved_modules[s->saved_count++] = module;
}

// A parameter that trains beside the adapter.
static vkf_status read_saved(saving *s, size_t index, size_t at)
{
    const vkf__parameter *item = &s->lora->parameters->items[index];
    const vkf__weight_slot *slot = &s->lora->model->weights.trainable[index].slot;
    float *values = s->values + s->used;
    if (slot->parts > 0 || slot->transposed || slot->as_row || strlen(item->name) >= VKF_WEIGHT_NAME_MAX)
        return vkf__fail(&s->lora->model->context->host, VKF_ERROR_UNSUPPORTED,
                         "an adapter cannot be saved with %s, which trains beside it: the model's file has it fused or "
                         "transposed; freeze it, or train without lora_rank",
                         item->name);
    s->saved[at] = (vkf__stored_tensor){
        .name = item->name,
        .type = VKF_STORED_F32,
        .rank = slot->rank,
        .shape = {slot->shape[0], slot->shape[1]},
        .data = (const uint8_t *)values,
        .size_bytes = item->gradient.size_bytes,
    };
    s->used += item->gradient.size_bytes / sizeof(float);
    add_module_name(s, item->name);
    return read_item(item, values);
}

static const char *task_of(const vkf_model_config *config)
{
    const vkf__kind_facts *facts = vkf__facts_of(config);
    if (facts->decodes)
        return facts->encodes ? "SEQ_2_SEQ_LM" : "CAUSAL_LM";
    if (config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        return "SEQ_CLS";
    return config->head == VKF_HEAD_TOKEN_CLASSIFICATION ? "TOKEN_CLS" : NULL;
}

vkf_status vkf__lora_save(const vkf__lora *lora, const char *directory)
{
    vkf_status status = VKF_OK;
    const vkf_model *model = lora->model;
    // Whoever finds the adapter finds its base by this. A directory of a source of files is none of the system's.
    char *base = model->directory ? vkf__path_absolute(model->directory) : NULL;
    size_t saved = 0;
    saving s;
    VKF_TRY(saving_init(lora, &s));
    for (size_t i = 0; i < lora->count; i++)
        VKF_TRY(read_pair(&s, i));
    for (size_t i = 0; i < lora->parameters->count; i++)
        if (is_saved(lora, i))
            VKF_TRY(read_saved(&s, i, saved++));
    const vkf__adapter_config config = {
        .rank = lora->rank,
        .alpha = lora->alpha,
        .fan_in_out = model->weights.trainable[lora->modules[0].trainable].slot.transposed,
        .base = base ? base : model->directory,
        .task = task_of(&model->config),
        .saved_modules = s.saved_modules,
        .saved_module_count = s.saved_count,
    };
    VKF_TRY(vkf__adapter_write(&model->context->host, directory, &config, s.pairs, lora->count, s.saved, saved));
fail:
    free(base); // malloc()'s own
    saving_free(&s);
    return status;
}

// ---- reading

static vkf_status fail_tensor(const vkf__lora *lora, const vkf__tensor_file *file, const char *name,
                              const char *problem)
{
    return vkf__fail(&lora->model->context->host, VKF_ERROR_FORMAT, "%s: %s %s", vkf__tensor_file_path(file), problem,
                     name);
}

static vkf_status find_tensor(const vkf__lora *lora, const vkf__tensor_file *file, const char *name, uint32_t rank,
                              const uint32_t *shape, const vkf__stored_tensor **out_tensor)
{
    const vkf__stored_tensor *found = vkf__tensor_file_find(file, name);
    bool same = found && found->type == VKF_STORED_F32 && found->rank == rank;
    for (uint32_t d = 0; same && d < rank; d++)
        same = found->shape[d] == shape[d];
    *out_tensor = found;
    return same ? VKF_OK
                : fail_tensor(lora, file, name, "it is another adapter: it has no F32 tensor of this one's shape,");
}

static vkf_status read_tensor(const vkf__lora *lora, const vkf__tensor_file *file, const vkf__stored_tensor *tensor,
                              float *out_values)
{
    VKF_RETURN_IF_ERROR(vkf__stored_read(tensor, 0, tensor->size_bytes, out_values));
    return vkf__all_finite(out_values, (size_t)tensor->count)
               ? VKF_OK
               : fail_tensor(lora, file, tensor->name, "an element is not a finite number in");
}

static vkf_status write_item(const vkf__parameter *item, const float *values)
{
    const vkf__span value = vkf__span_of(&item->value);
    return vkf_buffer_write(value.buffer, value.offset_bytes, values, value.size_bytes);
}

static vkf_status write_b(const vkf__lora *lora, const vkf__lora_module *m, const float *file_order, float *values)
{
    for (uint32_t part = 0; part < m->parts; part++) {
        const vkf__parameter *b = &lora->parameters->items[m->item + 1 + part];
        for (uint32_t row = 0; row < b->value.shape[0]; row++)
            memcpy(values + (size_t)row * lora->rank, file_order + vkf__lora_row(lora, m, part, row) * lora->rank,
                   lora->rank * sizeof(float));
        VKF_RETURN_IF_ERROR(write_item(b, values));
    }
    return VKF_OK;
}

static vkf_status load_module(const vkf__lora *lora, const vkf__lora_module *m, const vkf__tensor_file *file,
                              bool check)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &lora->model->context->host;
    const uint32_t widest = m->in > m->out ? m->in : m->out;
    const vkf__stored_tensor *a, *b;
    float *both = NULL;
    VKF_TRY(find_tensor(lora, file, m->a_name, 2, (uint32_t[]){lora->rank, m->in}, &a));
    VKF_TRY(find_tensor(lora, file, m->b_name, 2, (uint32_t[]){m->out, lora->rank}, &b));
    VKF_ALLOC(host, both, 2 * (size_t)widest * lora->rank);
    VKF_TRY(read_tensor(lora, file, a, both));
    if (!check)
        VKF_TRY(write_item(&lora->parameters->items[m->item], both));
    VKF_TRY(read_tensor(lora, file, b, both));
    if (!check)
        VKF_TRY(write_b(lora, m, both, both + (size_t)widest * lora->rank));
fail:
    vkf__free(host, both);
    return status;
}

// A parameter that trained beside the adapter.
static vkf_status load_saved(const vkf__lora *lora, size_t index, const vkf__tensor_file *file, bool check)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &lora->model->context->host;
    const vkf__parameter *item = &lora->parameters->items[index];
    const vkf__weight_slot *slot = &lora->model->weights.trainable[index].slot;
    const vkf__stored_tensor *stored;
    char name[VKF_LORA_TENSOR_MAX];
    float *values = NULL;
    (void)snprintf(name, sizeof name, VKF_ADAPTER_PREFIX "%s", item->name);
    VKF_TRY(find_tensor(lora, file, name, slot->rank, slot->shape, &stored));
    VKF_ALLOC(host, values, stored->count);
    VKF_TRY(read_tensor(lora, file, stored, values));
    if (!check)
        VKF_TRY(write_item(item, values));
fail:
    vkf__free(host, values);
    return status;
}

vkf_status vkf__lora_load(const vkf__lora *lora, const char *directory, bool check)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &lora->model->context->host;
    vkf__tensor_file *file = NULL;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, VKF_ADAPTER_WEIGHTS, &path));
    VKF_TRY(vkf__safetensors_open(host, path, &file));
    for (size_t i = 0; i < lora->count; i++)
        VKF_TRY(load_module(lora, &lora->modules[i], file, check));
    for (size_t i = 0; i < lora->parameters->count; i++)
        if (is_saved(lora, i))
            VKF_TRY(load_saved(lora, i, file, check));
    VKF_TRY(vkf__tensor_file_check_unchanged(file));
fail:
    vkf__tensor_file_close(&file);
    vkf__free(host, path);
    return status;
}
