// Finds the tensor of each weight slot in a model's files, under today's or an older name, and checks it.
#include "model/load/weight_resolution.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/family/family.h"
#include "model/family/weight_fusion.h"
#include "model/load/adapter_merge.h"
#include "model/load/weight_blocks.h"
#include "model/sentence/sentence_modules.h"

// ---- names

// A model with a head puts the base model's prefix ("bert.") before the names of the base model's tensors.
static const char *base_of(const vkf__model_source *source)
{
    const char *base = source->family->base;
    return source->checkpoint && vkf__checkpoint_has_prefix(source->checkpoint, base) ? base : "";
}

// Like vkf__weight_slots(), for families as well.
static size_t list_slots(const vkf__model_source *source, vkf__weights *weights, vkf__weight_slot *slots)
{
    if (!source->family)
        return vkf__weight_slots(&source->config, &source->part, weights, slots);
    size_t count = vkf__family_slots(source->family, base_of(source), source->checkpoint, &source->config,
                                     &source->part, weights, slots);
    return count + vkf__sentence_slots(source, weights, slots ? slots + count : NULL);
}

const vkf__checkpoint *vkf__slot_checkpoint(const vkf__model_source *source, const vkf__weight_slot *slot)
{
    return slot->checkpoint ? slot->checkpoint : source->checkpoint;
}

// Finds the tensor whose name is `name` with the ending `from` replaced by `to`.
static const vkf__stored_tensor *find_ending(const vkf__checkpoint *checkpoint, const char *name, const char *from,
                                             const char *to)
{
    char other[VKF_WEIGHT_NAME_MAX];
    size_t length = strlen(name), ending = strlen(from);
    if (length < ending || strcmp(name + length - ending, from) != 0)
        return NULL;
    (void)snprintf(other, sizeof other, "%.*s%s", (int)(length - ending), name, to);
    return vkf__checkpoint_find(checkpoint, other);
}

// The name of a projection of its own, even where the configuration ties it to the token embedding; NULL: the model has
// none.
static const char *projection_name(const vkf__model_source *source)
{
    const vkf__family_head *head = vkf__family_head_of(source->family, &source->config);
    return head ? head->weights[VKF_HEAD_PROJECTION] : source->family->weights[VKF_WEIGHT_PROJECTION];
}

static bool is_token_embedding(const vkf__model_source *source, const char *name)
{
    const char *base = base_of(source);
    size_t length = strlen(base);
    return strncmp(name, base, length) == 0 && strcmp(name + length, source->family->weights[VKF_WEIGHT_WORDS]) == 0;
}

// Finds the token embedding under its own name or under another one that files of the family may have for it.
static const vkf__stored_tensor *find_token_embedding(const vkf__model_source *source)
{
    const vkf__family *family = source->family;
    char name[VKF_WEIGHT_NAME_MAX];
    const char *base = base_of(source);
    (void)snprintf(name, sizeof name, "%s%s", base, family->weights[VKF_WEIGHT_WORDS]);
    const vkf__stored_tensor *found = vkf__checkpoint_find(source->checkpoint, name);
    for (size_t i = 0; !found && i < VKF_FAMILY_OTHER_EMBEDDINGS && family->other_embeddings[i]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", base, family->other_embeddings[i]);
        found = vkf__checkpoint_find(source->checkpoint, name);
    }
    return found;
}

static const vkf__stored_tensor *find_projection(const vkf__model_source *source)
{
    const char *name = projection_name(source);
    return name ? vkf__checkpoint_find(source->checkpoint, name) : NULL;
}

// Finds a slot's tensor under an older or an alternative name.
static const vkf__stored_tensor *find_other(const vkf__model_source *source, const vkf__weight_slot *slot)
{
    const vkf__checkpoint *checkpoint = source->checkpoint;
    const vkf__stored_tensor *found = NULL;
    if (is_token_embedding(source, slot->name)) {
        found = find_token_embedding(source);
        return !found && source->config.tie_projection ? find_projection(source) : found;
    }
    if (slot->rank != 1)
        return NULL;
    // A norm's vectors may have TensorFlow's names.
    found = find_ending(checkpoint, slot->name, ".weight", ".gamma");
    return found ? found : find_ending(checkpoint, slot->name, ".bias", ".beta");
}

// ---- what the file has

// Whether the file has any of the head's own tensors; those of the pooler belong to the base model.
static bool has_head(const vkf__model_source *source, const vkf__family_head *head)
{
    const char *base = source->family->base;
    for (size_t i = 0; i < VKF_HEAD_ROLE_COUNT; i++) {
        const char *name = head->weights[i];
        if (name && strncmp(name, base, strlen(base)) != 0 &&
            (vkf__checkpoint_find(source->checkpoint, name) ||
             vkf__adapter_saved(source->adapter, source->family, name)))
            return true;
    }
    return false;
}

// Drops the head where config.json names a class that has one but the file has no tensor of it. transformers would fill
// such a head with random numbers.
static void drop_head(const vkf__host *host, vkf__model_source *source)
{
    const vkf__family_head *head = vkf__family_head_of(source->family, &source->config);
    if (!head || has_head(source, head))
        return;
    vkf__log(host, VKF_SEVERITY_WARNING, "%s: no tensor of the head that %s has: the model is read without it",
             vkf__checkpoint_path(source->checkpoint), head->architecture);
    source->config.head = VKF_HEAD_NONE;
    source->config.tie_projection = source->config.projection_bias = false;
}

static bool same_bytes(const vkf__stored_tensor *a, const vkf__stored_tensor *b)
{
    return a->type == b->type && a->count == b->count && a->file == b->file && a->data == b->data &&
           a->offset_bytes == b->offset_bytes;
}

// A projection that is in the file is not tied, with two exceptions: the file has no token embedding, so that the
// projection serves for it, or both names refer to the same bytes, as torch.save writes tied tensors under two names.
static void untie(vkf__model_source *source)
{
    bool tied = source->config.tie_projection;
    vkf__family_untie(source->family, source->checkpoint, &source->config);
    const vkf__stored_tensor *projection = find_projection(source), *embedding = find_token_embedding(source);
    if (tied && projection && (!embedding || same_bytes(embedding, projection)))
        source->config.tie_projection = true;
    const char *name = projection_name(source);
    if (name && (vkf__adapter_saved(source->adapter, source->family, name) ||
                 vkf__adapter_product_for(source->adapter, source->family, name)))
        source->config.tie_projection = false; // what it changes is the projection alone
}

void vkf__source_settle(const vkf__host *host, vkf__model_source *source)
{
    const vkf__family *family = source->family;
    if (!family)
        return;
    untie(source);
    if (vkf__facts_of(&source->config)->pools)
        drop_head(host, source);
    if (family->bias_as_row && !vkf__checkpoint_find(source->checkpoint, family->weights[VKF_WEIGHT_PROJECTION_BIAS]))
        source->config.projection_bias = false; // it is zeros, and files of the base model leave it out
}

// ---- shapes

vkf__shape_in_file vkf__slot_in_file(const vkf__weight_slot *slot)
{
    vkf__shape_in_file shape = {slot->rank, {slot->shape[0] * (slot->parts > 0 ? slot->parts : 1), slot->shape[1]}};
    if (slot->transposed) {
        shape.size[1] = shape.size[0];
        shape.size[0] = slot->shape[1];
    }
    if (slot->as_row)
        shape = (vkf__shape_in_file){2, {1, slot->shape[0]}};
    return shape;
}

static vkf_status fail_shape(const vkf__host *host, const char *path, const vkf__stored_tensor *stored,
                             const vkf__shape_in_file *shape)
{
    char got[64] = "", expected[64];
    size_t used = 0;
    for (uint32_t i = 0; i < stored->rank && used < sizeof got; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%" PRIu64, i > 0 ? ", " : "", stored->shape[i]);
    if (shape->rank == 2)
        snprintf(expected, sizeof expected, "%u, %u", shape->size[0], shape->size[1]);
    else
        snprintf(expected, sizeof expected, "%u", shape->size[0]);
    return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s has shape (%s), the configuration asks for (%s)", path,
                     stored->name, got, expected);
}

vkf_status vkf__slot_check(const vkf__host *host, const vkf__checkpoint *checkpoint, const vkf__weight_slot *slot,
                           const vkf__stored_tensor *stored)
{
    const char *path = vkf__checkpoint_path_of(checkpoint, stored);
    const vkf__shape_in_file shape = vkf__slot_in_file(slot);
    vkf_dtype blocks;
    if (vkf__stored_in_blocks(slot, stored, &blocks))
        return VKF_OK;
    bool same = stored->rank == shape.rank;
    for (uint32_t i = 0; same && i < shape.rank; i++)
        same = stored->shape[i] == shape.size[i];
    if (!same)
        return fail_shape(host, path, stored, &shape);
    if (!vkf__stored_is_float(stored->type))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s is stored as %s, expected F32, F16, BF16 or F64", path,
                         stored->name, vkf__stored_type_name(stored->type));
    return VKF_OK;
}

// A projection that an adapter unties is the token embedding with what is added to it.
static const vkf__stored_tensor *find_untied(const vkf__model_source *source, const vkf__weight_slot *slot)
{
    const char *projection = projection_name(source);
    bool added = vkf__adapter_product_for(source->adapter, source->family, slot->name);
    return added && projection && strcmp(slot->name, projection) == 0 ? find_token_embedding(source) : NULL;
}

static vkf_status find(const vkf__host *host, const vkf__model_source *source, vkf__weight_slot *slot,
                       const vkf__stored_tensor **out_stored)
{
    const vkf__checkpoint *checkpoint = vkf__slot_checkpoint(source, slot);
    const vkf__stored_tensor *stored = NULL;
    if (!slot->checkpoint)
        VKF_RETURN_IF_ERROR(vkf__adapter_take(source, slot, &stored));
    if (stored)
        checkpoint = slot->checkpoint;
    else
        stored = vkf__checkpoint_find(checkpoint, slot->name);
    if (!stored && source->family && !slot->checkpoint)
        stored = find_other(source, slot);
    if (!stored && source->family && !slot->checkpoint)
        stored = find_untied(source, slot);
    if (!stored)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s is missing", vkf__checkpoint_path(checkpoint),
                         slot->name);
    *out_stored = stored;
    return vkf__slot_check(host, checkpoint, slot, stored);
}

// ---- resolution

vkf_status vkf__weights_list(const vkf__host *host, const vkf__model_source *source, vkf__weight_resolution *out)
{
    const vkf_model_config *config = &source->config;
    if (config->num_encoder_layers > 0)
        VKF_ALLOC_OR_RETURN(host, out->weights.encoder, config->num_encoder_layers);
    if (config->num_decoder_layers > 0)
        VKF_ALLOC_OR_RETURN(host, out->weights.decoder, config->num_decoder_layers);
    out->count = list_slots(source, &out->weights, NULL);
    out->blocks = VKF_DTYPE_F32;
    VKF_ALLOC_OR_RETURN(host, out->slots, out->count);
    (void)list_slots(source, &out->weights, out->slots);
    VKF_RETURN_IF_ERROR(vkf__fusions_check(host, out->slots, out->count));
    return VKF_OK;
}

static vkf_status settle_blocks(const vkf__host *host, const vkf__model_source *source, vkf__weight_resolution *r)
{
    for (size_t i = 0; i < r->count; i++) {
        vkf_dtype stored;
        if (!vkf__stored_in_blocks(&r->slots[i], r->stored[i], &stored))
            continue;
        if (!vkf__is_blocks(r->blocks))
            r->blocks = stored;
        if (r->blocks != stored)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: tensor %s is stored as %s, others as %s",
                             vkf__checkpoint_path_of(vkf__slot_checkpoint(source, &r->slots[i]), r->stored[i]),
                             r->slots[i].name, vkf_dtype_name(stored), vkf_dtype_name(r->blocks));
    }
    return VKF_OK;
}

vkf_status vkf__weights_resolve(const vkf__host *host, const vkf__model_source *source, vkf__weight_resolution *out)
{
    if (!source->checkpoint)
        return vkf__weights_list(host, source, out);
    if (source->family)
        VKF_RETURN_IF_ERROR(vkf__family_check_class(host, source->family, source->checkpoint, &source->config));
    VKF_RETURN_IF_ERROR(vkf__weights_list(host, source, out));
    VKF_ALLOC_OR_RETURN(host, out->stored, out->count);
    for (size_t i = 0; i < out->count; i++)
        VKF_RETURN_IF_ERROR(find(host, source, &out->slots[i], &out->stored[i]));
    VKF_RETURN_IF_ERROR(settle_blocks(host, source, out));
    return vkf__adapter_merge(host, source, out);
}

void vkf__weight_resolution_free(const vkf__host *host, vkf__weight_resolution *resolution)
{
    vkf__free(host, resolution->weights.encoder);
    vkf__free(host, resolution->weights.decoder);
    vkf__free(host, resolution->slots);
    vkf__free(host, resolution->stored);
    vkf__merged_free(host, resolution);
    *resolution = (vkf__weight_resolution){0};
}
