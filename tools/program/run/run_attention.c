// vkformer run --attention: runs the first text once more, alone and in full, in a session that keeps attention
// weights. So pictures cost the other runs nothing, and do not change what these print.
#include <stdlib.h>
#include <string.h>

#include "attention/attention_panel.h"
#include "base/size.h"
#include "run/run_state.h"

#define SPACE " A space is written as \302\267."

static const struct {
    vkf_attention_kind kind;
    const char *title, *about;
} kinds[] = {
    {VKF_ATTENTION_ENCODER, "Encoder self attention", "Rows and columns: tokens of the text." SPACE},
    {VKF_ATTENTION_DECODER, "Decoder self attention",
     "Rows: positions, by their tokens. Columns: the same; no position attends to later ones." SPACE},
    {VKF_ATTENTION_CROSS, "Cross attention",
     "Columns: tokens of the text (keys). Rows: the tokens that were generated there (queries)." SPACE},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct drawing {
    const run_picture *picture;
    vkf_model_config config;
    uint32_t wanted;             // bits of vkf_attention_kind
    uint32_t positions;          // of the decoder
    const char **source, **read; // tokens of the source, and the token that each decoder position read
    const char **wrote;          // the tokens that followed them
    uint32_t *numbers;           // layers and heads of all sections
    float *weights[KINDS], *read_weights;
    vkf_attention_section sections[KINDS];
    uint32_t section_count;
    vkf_session *session;
} drawing;

static const char *name_of(const run_picture *p, int32_t id, bool source)
{
    const char *name = p->tokenizer ? vkf_tokenizer_id_to_token(p->tokenizer, id)
                       : source     ? vkf_vocabulary_source_token(p->vocabulary, id)
                                    : vkf_vocabulary_target_token(p->vocabulary, id);
    return name ? name : "?";
}

static bool name_tokens(drawing *d)
{
    const run_picture *p = d->picture;
    // The last token was generated, but nothing was generated from it.
    d->positions = p->target_count > 1 ? p->target_count - 1 : p->target_count;
    d->source = calloc((size_t)p->source_count + 1, sizeof *d->source);
    d->read = calloc((size_t)p->target_count + 1, sizeof *d->read);
    if (!d->source || !d->read)
        return false;
    for (uint32_t i = 0; i < p->source_count; i++)
        d->source[i] = name_of(p, p->source_ids[i], true);
    for (uint32_t i = 0; i < p->target_count; i++)
        d->read[i] = name_of(p, p->target_ids[i], false);
    d->wrote = d->read + (p->target_count > 1);
    return true;
}

static uint32_t take_numbers(const vkf_index_set *set, uint32_t count, uint32_t *out_numbers)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; i++)
        if (vkf_index_set_has(set, i))
            out_numbers[taken++] = i;
    return taken;
}

static void choose_section(drawing *d, size_t which, uint32_t *layers, uint32_t *heads)
{
    vkf_attention_kind kind = kinds[which].kind;
    const vkf_attention_choice *choice = &d->picture->options->attention;
    uint32_t head_count = vkf_attention_heads(&d->config, kind);
    bool of_source = kind == VKF_ATTENTION_ENCODER, over_source = kind != VKF_ATTENTION_DECODER;
    d->sections[d->section_count++] = (vkf_attention_section){
        .name = vkf_attention_kind_names[kind == VKF_ATTENTION_CROSS     ? 0
                                         : kind == VKF_ATTENTION_ENCODER ? 1
                                                                         : 2],
        .title = kinds[which].title,
        .about = kinds[which].about,
        .query_tokens = of_source                     ? d->source
                        : kind == VKF_ATTENTION_CROSS ? d->wrote
                                                      : d->read,
        .key_tokens = over_source ? d->source : d->read,
        .queries = of_source ? d->picture->source_count : d->positions,
        .keys = over_source ? d->picture->source_count : d->positions,
        .layer_count = take_numbers(&choice->layers, vkf_attention_layers(&d->config, kind), layers),
        .head_count = take_numbers(&choice->heads, head_count, heads),
        .layers = layers,
        .heads = heads,
        .mean = head_count > 1,
    };
}

static bool choose(drawing *d)
{
    size_t room = 0;
    for (size_t i = 0; i < KINDS; i++)
        room += vkf_attention_layers(&d->config, kinds[i].kind) + vkf_attention_heads(&d->config, kinds[i].kind);
    uint32_t *numbers = d->numbers = calloc(room, sizeof *numbers);
    for (size_t i = 0; i < KINDS && numbers; i++) {
        uint32_t layers = vkf_attention_layers(&d->config, kinds[i].kind);
        if (!(d->wanted & kinds[i].kind))
            continue;
        choose_section(d, i, numbers, numbers + layers);
        numbers += layers + vkf_attention_heads(&d->config, kinds[i].kind);
    }
    return numbers != NULL;
}

static bool cells_fit(const drawing *d)
{
    const vkf_attention_picture picture = {.sections = d->sections, .section_count = d->section_count};
    uint64_t cells = vkf_picture_cells(&picture);
    if (cells <= VKF_ATTENTION_MAX_CELLS)
        return true;
    vkf_print_error("--attention: a picture of %llu cells would be too large, %u are the most; choose some of it with "
                    "--attention-of, --attention-layers and --attention-heads",
                    (unsigned long long)cells, VKF_ATTENTION_MAX_CELLS);
    return false;
}

static vkf_status run_once(drawing *d)
{
    vkf_status status = VKF_OK;
    const run_picture *p = d->picture;
    vkf_model_kind kind = d->config.kind;
    const vkf_session_desc desc = {
        .max_batch = 1,
        .max_source_len = p->source_count, // 0 for a DECODER, which has no source
        .max_target_len = d->positions,
        .max_logit_rows = kind == VKF_MODEL_ENCODER ? 0 : 1,
        .cache_dtype = p->options->cache_dtype,
        .attention_weights = d->wanted,
    };
    const vkf_encode_args encode = {
        .batch = 1,
        .source_len = p->source_count,
        .source_ids = p->source_ids,
        .source_lengths = &p->source_count,
        .source_types = p->source_types,
    };
    const vkf_decode_args decode = {.batch = 1, .target_len = d->positions, .target_ids = p->target_ids};
    status = vkf_session_create(p->model, &desc, &d->session);
    if (status == VKF_OK && kind != VKF_MODEL_DECODER)
        status = vkf_session_encode(d->session, &encode);
    if (status == VKF_OK && kind != VKF_MODEL_ENCODER)
        status = vkf_session_decode(d->session, &decode);
    return status;
}

// Makes a layer's panels from the weights of all its heads.
static void take_panels(const vkf_attention_section *section, uint32_t head_count, const float *heads,
                        float *out_panels)
{
    size_t cells = (size_t)section->queries * section->keys;
    for (size_t i = 0; i < cells && section->mean; i++) {
        double sum = 0;
        for (uint32_t head = 0; head < head_count; head++)
            sum += (double)heads[head * cells + i];
        out_panels[i] = (float)(sum / head_count);
    }
    for (uint32_t i = 0; i < section->head_count; i++)
        memcpy(out_panels + (i + section->mean) * cells, heads + section->heads[i] * cells, cells * sizeof *heads);
}

static vkf_status read_section(drawing *d, uint32_t index, vkf_attention_kind kind)
{
    vkf_attention_section *section = &d->sections[index];
    uint32_t head_count = vkf_attention_heads(&d->config, kind);
    size_t cells = (size_t)section->queries * section->keys, panels = vkf_section_panels(section), layer_cells = 0;
    if (!vkf__mul_size(cells, head_count, &layer_cells))
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    d->weights[index] = calloc((size_t)section->layer_count * panels * cells + 1, sizeof(float));
    d->read_weights = calloc(layer_cells, sizeof(float));
    vkf_status status = d->weights[index] && d->read_weights ? VKF_OK : VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < section->layer_count && status == VKF_OK; i++) {
        status = vkf_session_get_attention(d->session, kind, section->layers[i], 0, section->queries, d->read_weights);
        if (status == VKF_OK)
            take_panels(section, head_count, d->read_weights, d->weights[index] + i * panels * cells);
    }
    section->weights = d->weights[index];
    free(d->read_weights);
    d->read_weights = NULL;
    return status;
}

static bool read_weights(drawing *d)
{
    uint32_t index = 0;
    vkf_status status = run_once(d);
    for (size_t i = 0; i < KINDS && status == VKF_OK; i++)
        if (d->wanted & kinds[i].kind)
            status = read_section(d, index++, kinds[i].kind);
    if (status != VKF_OK)
        vkf_print_error("the attention weights of %u and %u positions cannot be had: %s", d->picture->source_count,
                        d->positions, vkf_status_text(status));
    return status == VKF_OK;
}

static bool write_picture(const drawing *d)
{
    const run_picture *p = d->picture;
    const vkf_attention_picture picture = {
        .model = p->options->model_directory,
        .text = p->text,
        .output = p->output,
        .sections = d->sections,
        .section_count = d->section_count,
    };
    return vkf_attention_picture_write(&picture, p->options->attention.path);
}

bool vkf_run_draw_attention(const run_picture *picture)
{
    drawing d = {.picture = picture};
    vkf_model_get_config(picture->model, &d.config);
    d.wanted = vkf_attention_choice_kinds(&picture->options->attention, &d.config);
    bool named = name_tokens(&d) && choose(&d);
    if (!named)
        vkf_print_error("memory is exhausted");
    bool drawn = named && cells_fit(&d) && read_weights(&d) && write_picture(&d);
    vkf_session_destroy(&d.session);
    for (size_t i = 0; i < KINDS; i++)
        free(d.weights[i]);
    free(d.numbers);
    free((void *)d.source);
    free((void *)d.read);
    return drawn;
}
