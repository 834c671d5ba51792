// Lists the tensors that a model reads, and draws them.
#include "model/directory/new_weights.h"

#include <math.h>
#include <stdio.h>

#include "io/json_file.h"
#include "io/path.h"
#include "io/safetensors.h"
#include "model/family/config_file.h"
#include "model/family/families.h"
#include "model/load/weight_resolution.h"

#define USUAL_DEVIATION 0.02
#define NO_ROW UINT64_MAX

typedef enum drawn { DRAWN_ZERO = 0, DRAWN_ONE, DRAWN_UNIFORM, DRAWN_NORMAL } drawn;

// How the elements of a tensor begin.
typedef struct drawing {
    drawn how;
    double bound;      // of NORMAL the deviation
    uint64_t zero_row; // NO_ROW: none
} drawing;

typedef struct new_weights {
    const vkf__host *host;
    uint64_t seed;
    vkf_model_config model;
    const vkf__family *family;    // NULL: torch.nn.Transformer
    const vkf__family_head *head; // NULL: there is none
    vkf__weights weights;         // the slots point into it
    vkf__weight_slot *slots;      // (slot_count)
    size_t slot_count;
    vkf__stored_tensor *tensors;     // (count)
    drawing *drawings;               // (count)
    const vkf__stored_tensor **from; // (count) NULL: it is drawn
    size_t count;
    vkf__checkpoint *checkpoint; // has the tensors that are not drawn; NULL: all are
    double deviation;            // of a family's normal distribution
} new_weights;

// ---- how each begins

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), bytes = strlen(ending);
    return length >= bytes && strcmp(name + length - bytes, ending) == 0;
}

static drawing vector_of(const new_weights *w, const char *name)
{
    const bool first = ends_with(name, "linear1.bias"); // as torch.nn.Linear begins
    if (!w->family && (first || ends_with(name, "linear2.bias")))
        return (drawing){DRAWN_UNIFORM, 1 / sqrt(first ? w->model.d_model : w->model.dim_feedforward), NO_ROW};
    return (drawing){ends_with(name, "bias") ? DRAWN_ZERO : DRAWN_ONE, 0, NO_ROW};
}

static drawing matrix_of(const new_weights *w, const vkf__weight_slot *slot)
{
    if (slot->linear)
        return (drawing){DRAWN_UNIFORM, sqrt(6.0 / ((double)slot->shape[0] + slot->shape[1])), NO_ROW};
    return (drawing){DRAWN_NORMAL, 1 / sqrt(w->model.d_model), NO_ROW};
}

static bool is_of_head(const new_weights *w, const char *name)
{
    for (size_t i = 0; w->head && i < VKF_HEAD_ROLE_COUNT; i++)
        if (w->head->weights[i] && strcmp(w->head->weights[i], name) == 0)
            return true;
    return false;
}

// ModernBERT's heads begin otherwise than its layers, as its own training's did.
static double deviation_of(const new_weights *w, const vkf__weight_slot *slot)
{
    const bool head = w->family == &vkf__family_modernbert && is_of_head(w, slot->name);
    if (head && slot->target == &w->weights.projection)
        return 1 / sqrt(w->model.d_model);
    const bool scaled = head || (w->family == &vkf__family_gpt2 && ends_with(slot->name, "c_proj.weight"));
    return scaled ? w->deviation / sqrt(2.0 * (w->model.num_encoder_layers + w->model.num_decoder_layers))
                  : w->deviation;
}

static drawing matrix_of_family(const new_weights *w, const vkf__weight_slot *slot)
{
    const bool pads =
        w->family != &vkf__family_gpt2 && w->model.pad_id >= 0 && slot->target == &w->weights.source_embedding;
    return (drawing){DRAWN_NORMAL, deviation_of(w, slot), pads ? (uint64_t)w->model.pad_id : NO_ROW};
}

static drawing drawing_of(const new_weights *w, const vkf__weight_slot *slot)
{
    if (slot->rank == 1)
        return vector_of(w, slot->name);
    return w->family ? matrix_of_family(w, slot) : matrix_of(w, slot);
}

// ---- what there is

static size_t list_slots(new_weights *w, vkf__weight_slot *slots)
{
    static const vkf__layer_part whole = {0};
    if (!w->family)
        return vkf__weight_slots(&w->model, &whole, &w->weights, slots);
    return vkf__family_slots(w->family, w->family->base, NULL, &w->model, &whole, &w->weights, slots);
}

// A tensor that is in the checkpoint under its name, without the base model's prefix, or by TensorFlow's for norms.
static const vkf__stored_tensor *find_stored(const new_weights *w, const char *name)
{
    static const char *const endings[][2] = {{"", ""}, {".weight", ".gamma"}, {".bias", ".beta"}};
    const size_t base = strlen(w->family->base), length = strlen(name);
    char other[VKF_WEIGHT_NAME_MAX];
    const vkf__stored_tensor *found = NULL;
    for (size_t i = 0; !found && i < sizeof endings / sizeof endings[0]; i++) {
        if (!ends_with(name, endings[i][0]))
            continue;
        (void)snprintf(other, sizeof other, "%.*s%s", (int)(length - strlen(endings[i][0])), name, endings[i][1]);
        found = vkf__checkpoint_find(w->checkpoint, other);
        if (!found && strncmp(other, w->family->base, base) == 0)
            found = vkf__checkpoint_find(w->checkpoint, other + base);
    }
    return found;
}

static vkf_status add_tensor(new_weights *w, const vkf__weight_slot *slot)
{
    const vkf__stored_tensor *stored = w->checkpoint ? find_stored(w, slot->name) : NULL;
    if (stored) {
        w->tensors[w->count] = *stored;
        w->tensors[w->count].name = slot->name;
        w->from[w->count++] = stored;
        return vkf__slot_check(w->host, w->checkpoint, slot, stored);
    }
    const vkf__shape_in_file shape = vkf__slot_in_file(slot);
    const uint64_t count = (uint64_t)shape.size[0] * (shape.rank == 2 ? shape.size[1] : 1);
    w->drawings[w->count] = drawing_of(w, slot);
    w->tensors[w->count++] = (vkf__stored_tensor){
        .name = slot->name,
        .type = VKF_STORED_F32,
        .rank = shape.rank,
        .shape = {shape.size[0], shape.rank == 2 ? shape.size[1] : 0},
        .count = count,
        .size_bytes = count * sizeof(float),
    };
    return VKF_OK;
}

// A tensor that slots share is there once.
static vkf_status list_tensors(new_weights *w)
{
    VKF_ALLOC_OR_RETURN(w->host, w->weights.encoder, w->model.num_encoder_layers);
    VKF_ALLOC_OR_RETURN(w->host, w->weights.decoder, w->model.num_decoder_layers);
    w->slot_count = list_slots(w, NULL);
    VKF_ALLOC_OR_RETURN(w->host, w->slots, w->slot_count);
    VKF_ALLOC_OR_RETURN(w->host, w->tensors, w->slot_count);
    VKF_ALLOC_OR_RETURN(w->host, w->drawings, w->slot_count);
    VKF_ALLOC_OR_RETURN(w->host, w->from, w->slot_count);
    (void)list_slots(w, w->slots);
    for (size_t i = 0; i < w->slot_count; i++)
        if (!w->slots[i].tied && w->slots[i].part == 0)
            VKF_RETURN_IF_ERROR(add_tensor(w, &w->slots[i]));
    return VKF_OK;
}

// ---- random numbers

// splitmix64 (Steele, Lea and Flood 2014): the same numbers everywhere.
static uint64_t next_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Above 0, up to 1.
static double next_share(uint64_t *state)
{
    return (double)((next_bits(state) >> 11) + 1) * 0x1p-53;
}

static float draw(const drawing *d, uint64_t *state)
{
    const double pi = 3.14159265358979323846;
    switch (d->how) {
    case DRAWN_ZERO:
        return 0;
    case DRAWN_ONE:
        return 1;
    case DRAWN_NORMAL: { // Box and Muller 1958
        const double length = sqrt(-2 * log(next_share(state)));
        return (float)(d->bound * length * cos(2 * pi * next_share(state)));
    }
    case DRAWN_UNIFORM:
        break;
    }
    return (float)(d->bound * (2 * next_share(state) - 1));
}

// A vkf__tensor_write_fn. Each tensor has numbers of its own, so that the order of the file changes nothing.
static vkf_status write_tensor(void *user, size_t index, vkf__new_file *file)
{
    const new_weights *w = user;
    const drawing *d = &w->drawings[index];
    const vkf__stored_tensor *tensor = &w->tensors[index];
    const uint64_t columns = tensor->rank == 2 ? tensor->shape[1] : 1;
    uint64_t state = w->seed;
    float values[256];
    if (w->from[index])
        return vkf__new_file_write_tensor(file, w->from[index]);
    state = next_bits(&state) + index;
    state = next_bits(&state);
    for (uint64_t done = 0; done < tensor->count;) {
        size_t count = 0;
        for (; count < sizeof values / sizeof *values && done < tensor->count; count++, done++) {
            const float value = draw(d, &state);
            values[count] = done / columns == d->zero_row ? 0 : value;
        }
        VKF_RETURN_IF_ERROR(vkf__new_file_write(file, values, count * sizeof *values));
    }
    return VKF_OK;
}

// ---- the file

static vkf_status write_file(new_weights *w, const char *path)
{
    json_t *metadata = json_pack("{s:s}", "format", "pt"); // without which transformers does not read it
    if (!metadata)
        return vkf__no_memory(w->host, __func__, 1, 1);
    const vkf_status status =
        vkf__safetensors_write_made(w->host, path, w->tensors, w->count, metadata, write_tensor, w);
    json_decref(metadata);
    return status;
}

// A head may be missing. Anything else belongs to the model.
static vkf_status say_what_is_drawn(const new_weights *w)
{
    char list[400] = "";
    size_t length = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (w->from[i])
            continue;
        if (!is_of_head(w, w->tensors[i].name))
            return vkf__fail(w->host, VKF_ERROR_FORMAT, "%s: tensor %s is missing", vkf__checkpoint_path(w->checkpoint),
                             w->tensors[i].name);
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%.80s", length > 0 ? ", " : "",
                                   w->tensors[i].name);
    }
    if (length > 0)
        vkf__log(w->host, VKF_SEVERITY_WARNING, "%s has no head for such classes; newly initialized: %s",
                 vkf__checkpoint_path(w->checkpoint), list);
    return VKF_OK;
}

// Reads config.json of the directory.
static vkf_status read_config(new_weights *w, const char *path)
{
    json_t *root = NULL;
    VKF_RETURN_IF_ERROR(vkf__config_load(w->host, path, &w->model, &w->family));
    VKF_RETURN_IF_ERROR(vkf__json_load(w->host, path, &root));
    const json_t *range = json_object_get(root, "initializer_range");
    w->deviation = json_is_number(range) && json_number_value(range) >= 0 ? json_number_value(range) : USUAL_DEVIATION;
    json_decref(root);
    w->head = w->family ? vkf__family_head_of(w->family, &w->model) : NULL;
    if (!w->checkpoint || w->head)
        return VKF_OK;
    return vkf__fail(w->host, VKF_ERROR_UNSUPPORTED,
                     "%s: asks for no head, which is all that is drawn beside the weights of another directory", path);
}

vkf_status vkf__new_weights_write(const vkf__host *host, const vkf_draw_weights_desc *desc)
{
    vkf_status status = VKF_OK;
    new_weights w = {.host = host, .seed = desc->seed};
    char *configuration = NULL, *path = NULL;
    VKF_TRY(vkf__path_join(host, desc->directory, "config.json", &configuration));
    VKF_TRY(vkf__path_join(host, desc->directory, "model.safetensors", &path));
    if (desc->from_directory)
        VKF_TRY(vkf__checkpoint_open(host, desc->from_directory, &w.checkpoint));
    VKF_TRY(read_config(&w, configuration));
    VKF_TRY(list_tensors(&w));
    if (w.checkpoint)
        VKF_TRY(say_what_is_drawn(&w));
    VKF_TRY(write_file(&w, path));
fail:
    vkf__checkpoint_close(&w.checkpoint);
    vkf__free(host, configuration);
    vkf__free(host, path);
    vkf__free(host, w.weights.encoder);
    vkf__free(host, w.weights.decoder);
    vkf__free(host, w.slots);
    vkf__free(host, w.tensors);
    vkf__free(host, w.drawings);
    vkf__free(host, w.from);
    return status;
}
