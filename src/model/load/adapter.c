// Opens an adapter's files and sorts its tensors by their names.
#include "model/load/adapter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "io/file.h"
#include "io/path.h"
#include "model/family/family.h"
#include "model/load/adapter_config.h"

// How PEFT names the two matrices of a Linear and of an embedding.
static const struct {
    const char *a, *b;
    bool embedding;
} pairs[] = {
    {".lora_A.weight", ".lora_B.weight", false},
    {".lora_embedding_A", ".lora_embedding_B", true},
};
#define PAIRS (sizeof pairs / sizeof pairs[0])
#define ORIGINAL_MODULE ".original_module"

// ---- names

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), bytes = strlen(ending);
    return length > bytes && strcmp(name + length - bytes, ending) == 0;
}

// Takes out what PEFT puts into the names of modules that it has wrapped.
static void unwrap(char *name)
{
    static const char *const wrappers[] = {".base_layer", ".modules_to_save"};
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
        size_t bytes = strlen(wrappers[i]);
        for (char *at = strstr(name, wrappers[i]); at; at = strstr(at, wrappers[i])) {
            if (at[bytes] == '.' || at[bytes] == '\0')
                memmove(at, at + bytes, strlen(at + bytes) + 1);
            else
                at++;
        }
    }
}

// The model's name for a tensor of the adapter, without an ending that it has.
static vkf_status model_name(const vkf__adapter *adapter, const vkf__stored_tensor *tensor, const char *ending,
                             char out_name[VKF_WEIGHT_NAME_MAX])
{
    const char *name = tensor->name, *path = vkf__checkpoint_path(adapter->checkpoint);
    size_t prefix = sizeof VKF_ADAPTER_PREFIX - 1;
    if (strncmp(name, VKF_ADAPTER_PREFIX, prefix) != 0)
        return vkf__fail(&adapter->host, VKF_ERROR_FORMAT,
                         "%s: the name of tensor %.200s does not begin with \"" VKF_ADAPTER_PREFIX
                         "\", as PEFT writes it",
                         path, name);
    size_t bytes = strlen(name + prefix) - strlen(ending);
    if (bytes >= VKF_WEIGHT_NAME_MAX)
        return vkf__fail(&adapter->host, VKF_ERROR_FORMAT, "%s: tensor %.200s belongs to no module of a model", path,
                         name);
    (void)snprintf(out_name, VKF_WEIGHT_NAME_MAX, "%.*s", (int)bytes, name + prefix);
    unwrap(out_name);
    return VKF_OK;
}

static const char *without_base(const vkf__family *family, const char *name)
{
    size_t bytes = family ? strlen(family->base) : 0;
    return bytes > 0 && strncmp(name, family->base, bytes) == 0 ? name + bytes : name;
}

void vkf__adapter_spell(const vkf__family *family, const char *name, char out_names[2][VKF_WEIGHT_NAME_MAX])
{
    const char *own = without_base(family, name);
    (void)snprintf(out_names[0], VKF_WEIGHT_NAME_MAX, "%s", own);
    (void)snprintf(out_names[1], VKF_WEIGHT_NAME_MAX, "%s%s", family ? family->base : "", own);
}

static int compare_products(const void *a, const void *b)
{
    return strcmp(((const vkf__adapter_product *)a)->module, ((const vkf__adapter_product *)b)->module);
}

static int compare_saved(const void *a, const void *b)
{
    return strcmp(((const vkf__adapter_tensor *)a)->name, ((const vkf__adapter_tensor *)b)->name);
}

// Cuts off what follows the module in the name of its weight; false where the name is of something else. nn.
// MultiheadAttention is a module whose weight has a name of its own.
static bool cut_to_module(char *name)
{
    static const char *const endings[] = {".weight", ".in_proj_weight"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (!ends_with(name, endings[i]))
            continue;
        name[strlen(name) - strlen(endings[i])] = '\0';
        return true;
    }
    return false;
}

const vkf__adapter_product *vkf__adapter_product_for(const vkf__adapter *adapter, const vkf__family *family,
                                                     const char *name)
{
    char names[2][VKF_WEIGHT_NAME_MAX];
    const vkf__adapter_product *found = NULL;
    if (!adapter)
        return NULL;
    vkf__adapter_spell(family, name, names);
    for (size_t i = 0; i < 2 && !found; i++) {
        vkf__adapter_product wanted;
        memcpy(wanted.module, names[i], sizeof wanted.module);
        if (cut_to_module(wanted.module))
            found = bsearch(&wanted, adapter->products, adapter->product_count, sizeof wanted, compare_products);
    }
    return found;
}

const vkf__stored_tensor *vkf__adapter_saved(const vkf__adapter *adapter, const vkf__family *family, const char *name)
{
    char names[2][VKF_WEIGHT_NAME_MAX];
    const vkf__adapter_tensor *found = NULL;
    if (!adapter)
        return NULL;
    vkf__adapter_spell(family, name, names);
    for (size_t i = 0; i < 2 && !found; i++) {
        vkf__adapter_tensor wanted;
        memcpy(wanted.name, names[i], sizeof wanted.name);
        found = bsearch(&wanted, adapter->saved, adapter->saved_count, sizeof wanted, compare_saved);
    }
    return found ? found->stored : NULL;
}

// ---- tensors

static const vkf__stored_tensor *find_other(const vkf__adapter *adapter, const vkf__stored_tensor *tensor,
                                            const char *ending, const char *other)
{
    char name[512];
    size_t bytes = strlen(tensor->name) - strlen(ending);
    if (snprintf(name, sizeof name, "%.*s%s", (int)bytes, tensor->name, other) >= (int)sizeof name)
        return NULL;
    return vkf__checkpoint_find(adapter->checkpoint, name);
}

static vkf_status check_matrices(const vkf__adapter *adapter, const vkf__adapter_product *p, uint32_t rank)
{
    const vkf__stored_tensor *const both[] = {p->a, p->b};
    const char *path = vkf__checkpoint_path(adapter->checkpoint);
    for (size_t i = 0; i < 2; i++) {
        if (both[i]->rank != 2 || both[i]->shape[i] != rank)
            return vkf__fail(&adapter->host, VKF_ERROR_FORMAT,
                             "%s: tensor %s is no matrix with %u %s, which is the rank by adapter_config.json", path,
                             both[i]->name, rank, i == 0 ? "rows" : "columns");
        if (!vkf__stored_is_float(both[i]->type))
            return vkf__fail(&adapter->host, VKF_ERROR_FORMAT,
                             "%s: tensor %s is stored as %s, expected F32, F16, BF16 or F64", path, both[i]->name,
                             vkf__stored_type_name(both[i]->type));
    }
    return VKF_OK;
}

static vkf_status add_product(vkf__adapter *adapter, const vkf__adapter_settings *settings, size_t pair,
                              const vkf__stored_tensor *a)
{
    uint32_t rank = 0;
    vkf__adapter_product *p = &adapter->products[adapter->product_count];
    p->a = a;
    p->b = find_other(adapter, a, pairs[pair].a, pairs[pair].b);
    p->embedding = pairs[pair].embedding;
    VKF_RETURN_IF_ERROR(model_name(adapter, a, pairs[pair].a, p->module));
    if (!p->b)
        return vkf__fail(&adapter->host, VKF_ERROR_FORMAT, "%s: tensor %s is there without its other half, *%s",
                         vkf__checkpoint_path(adapter->checkpoint), a->name, pairs[pair].b);
    VKF_RETURN_IF_ERROR(vkf__adapter_scale_of(&adapter->host, settings, p->module, &rank, &p->scale));
    VKF_RETURN_IF_ERROR(check_matrices(adapter, p, rank));
    adapter->product_count++;
    return VKF_OK;
}

static vkf_status add_tensor(vkf__adapter *adapter, const vkf__adapter_settings *settings,
                             const vkf__stored_tensor *tensor)
{
    const char *path = vkf__checkpoint_path(adapter->checkpoint);
    for (size_t i = 0; i < PAIRS; i++) {
        if (ends_with(tensor->name, pairs[i].a))
            return add_product(adapter, settings, i, tensor);
        if (ends_with(tensor->name, pairs[i].b) && find_other(adapter, tensor, pairs[i].b, pairs[i].a))
            return VKF_OK; // it comes with the other one
        if (ends_with(tensor->name, pairs[i].b))
            return vkf__fail(&adapter->host, VKF_ERROR_FORMAT, "%s: tensor %s is there without its other half, *%s",
                             path, tensor->name, pairs[i].a);
    }
    if (strstr(tensor->name, ORIGINAL_MODULE ".")) // of the model as it was; PEFT computes with modules_to_save
        return VKF_OK;
    if (strstr(tensor->name, ".lora_"))
        return vkf__fail(&adapter->host, VKF_ERROR_UNSUPPORTED, "%s: tensor %s is of a kind that is not supported",
                         path, tensor->name);
    adapter->saved[adapter->saved_count].stored = tensor;
    return model_name(adapter, tensor, "", adapter->saved[adapter->saved_count++].name);
}

// ---- files

static vkf_status open_weights(const vkf__host *host, const char *directory, vkf__checkpoint **out_checkpoint)
{
    static const char *const names[] = {VKF_ADAPTER_WEIGHTS, "adapter_model.bin"};
    vkf_status status = VKF_OK;
    char *path = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, names[i], &path));
        bool there = vkf__file_is_there(host, path);
        if (there)
            status = vkf__checkpoint_open_file(host, path, out_checkpoint);
        vkf__free(host, path);
        if (there)
            return status;
    }
    return vkf__fail(host, VKF_ERROR_FILE,
                     "%s: no adapter in it: neither adapter_model.safetensors nor adapter_model.bin", directory);
}

// By name, so that they are found in a time that hardly depends on how many there are. PEFT writes a trained bias of a
// module that it saves twice, as `classifier.bias` and as `classifier.modules_to_save.bias`.
static vkf_status sort(vkf__adapter *adapter)
{
    const vkf__adapter_product *p = adapter->products;
    size_t kept = 0;
    if (adapter->product_count > 0)
        qsort(adapter->products, adapter->product_count, sizeof *adapter->products, compare_products);
    if (adapter->saved_count > 0)
        qsort(adapter->saved, adapter->saved_count, sizeof *adapter->saved, compare_saved);
    for (size_t i = 1; i < adapter->product_count; i++)
        if (strcmp(p[i].module, p[i - 1].module) == 0)
            return vkf__fail(&adapter->host, VKF_ERROR_FORMAT, "%s: tensors %s and %s are both for %s",
                             vkf__checkpoint_path(adapter->checkpoint), p[i - 1].a->name, p[i].a->name, p[i].module);
    for (size_t i = 0; i < adapter->saved_count; i++)
        if (kept == 0 || strcmp(adapter->saved[kept - 1].name, adapter->saved[i].name) != 0)
            adapter->saved[kept++] = adapter->saved[i];
    adapter->saved_count = kept;
    return VKF_OK;
}

static vkf_status load(vkf__adapter *adapter, const vkf__adapter_settings *settings)
{
    const vkf__stored_tensor *tensor;
    size_t count = vkf__checkpoint_count(adapter->checkpoint);
    VKF_ALLOC_OR_RETURN(&adapter->host, adapter->products, count);
    VKF_ALLOC_OR_RETURN(&adapter->host, adapter->saved, count);
    for (size_t i = 0; (tensor = vkf__checkpoint_at(adapter->checkpoint, i)); i++)
        VKF_RETURN_IF_ERROR(add_tensor(adapter, settings, tensor));
    return sort(adapter);
}

vkf_status vkf__adapter_open(const vkf__host *host, const char *directory, vkf__adapter **out_adapter)
{
    vkf_status status = VKF_OK;
    vkf__adapter_settings settings = {0};
    vkf__adapter *adapter = NULL;
    VKF_TRY(vkf__adapter_settings_load(host, directory, &settings));
    VKF_ALLOC(host, adapter, 1);
    adapter->host = *host;
    adapter->ties = settings.ties;
    VKF_TRY(open_weights(host, directory, &adapter->checkpoint));
    VKF_TRY(load(adapter, &settings));
    *out_adapter = adapter;
    adapter = NULL;
fail:
    vkf__adapter_settings_free(host, &settings);
    vkf__adapter_close(&adapter);
    return status;
}

void vkf__adapter_close(vkf__adapter **adapter)
{
    if (!*adapter)
        return;
    const vkf__host host = (*adapter)->host;
    vkf__checkpoint_close(&(*adapter)->checkpoint);
    vkf__free(&host, (*adapter)->products);
    vkf__free(&host, (*adapter)->saved);
    vkf__free(&host, *adapter);
    *adapter = NULL;
}

vkf_status vkf__adapter_fingerprint(const vkf__adapter *adapter, uint64_t *hash)
{
    uint64_t tensors = 0;
    VKF_RETURN_IF_ERROR(vkf__checkpoint_fingerprint(adapter->checkpoint, &tensors));
    *hash = vkf__hash(*hash, &tensors, sizeof tensors);
    for (size_t i = 0; i < adapter->product_count; i++)
        *hash = vkf__hash(*hash, &adapter->products[i].scale, sizeof adapter->products[i].scale);
    return VKF_OK;
}
