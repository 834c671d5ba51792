// Reads the kinds of post-processors, and turns each into templates.
#include "text/post_processor.h"

#include <string.h>

#include "text/vocabulary.h"

static vkf_status add_part(const vkf__host *host, vkf__template *added_to, vkf__part_kind kind, int32_t id,
                           int32_t type_id)
{
    vkf_status status = vkf__grow(host, (void **)&added_to->parts, sizeof *added_to->parts, added_to->count,
                                  &added_to->capacity, added_to->count + 1);
    if (status != VKF_OK)
        return status;
    added_to->parts[added_to->count++] = (vkf__template_part){kind, id, type_id};
    added_to->special_count += kind == VKF_PART_SPECIAL;
    return VKF_OK;
}

// --- TemplateProcessing

static vkf_status read_type_id(const vkf__json_section *section, int32_t *out_type_id)
{
    uint32_t type_id = 0;
    vkf_status status =
        vkf__json_u32(section->host, section->where, section->object, "type_id", 0, INT32_MAX, &type_id);
    *out_type_id = (int32_t)type_id;
    return status;
}

static vkf_status add_special(const vkf__json_section *piece, const vkf__json_section *specials,
                              vkf__template *added_to)
{
    vkf__json_section special;
    vkf__json_section ids;
    const char *name = NULL;
    int32_t type_id = 0;
    VKF_RETURN_IF_ERROR(vkf__json_string(piece->host, piece->where, piece->object, "id", &name));
    VKF_RETURN_IF_ERROR(read_type_id(piece, &type_id));
    VKF_RETURN_IF_ERROR(vkf__section_get(specials, name, &special));
    VKF_RETURN_IF_ERROR(vkf__section_is_object(&special));
    VKF_RETURN_IF_ERROR(vkf__section_get(&special, "ids", &ids));
    VKF_RETURN_IF_ERROR(vkf__section_is_array(&ids));
    for (size_t i = 0; i < json_array_size(ids.object); i++) {
        const json_t *id = json_array_get(ids.object, i);
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < 0 || value > VKF_TOKEN_MAX_ID)
            return vkf__fail(piece->host, VKF_ERROR_FORMAT, "%s[%zu] must be an id within 0 and %d", ids.where, i,
                             VKF_TOKEN_MAX_ID);
        VKF_RETURN_IF_ERROR(add_part(piece->host, added_to, VKF_PART_SPECIAL, (int32_t)value, type_id));
    }
    return VKF_OK;
}

static vkf_status add_sequence(const vkf__json_section *piece, bool pair, vkf__template *added_to)
{
    static const char *const names[] = {"A", "B"};
    size_t sequence = 0;
    int32_t type_id = 0;
    VKF_RETURN_IF_ERROR(vkf__section_choice(piece, "id", names, 2, &sequence));
    VKF_RETURN_IF_ERROR(read_type_id(piece, &type_id));
    if (sequence == 1 && !pair)
        return vkf__fail(piece->host, VKF_ERROR_FORMAT, "%s: key 'id' is 'B', but there is one sequence", piece->where);
    return add_part(piece->host, added_to, (vkf__part_kind)sequence, 0, type_id);
}

static vkf_status load_template(const vkf__json_section *section, const char *key, const vkf__json_section *specials,
                                vkf__template *out_template)
{
    vkf__json_section list;
    VKF_RETURN_IF_ERROR(vkf__section_get(section, key, &list));
    VKF_RETURN_IF_ERROR(vkf__section_is_array(&list));
    for (size_t i = 0; i < json_array_size(list.object); i++) {
        vkf__json_section element;
        vkf__json_section piece;
        bool found = false;
        vkf__section_element(&list, i, &element);
        VKF_RETURN_IF_ERROR(vkf__section_find(&element, "Sequence", &found, &piece));
        if (found) {
            VKF_RETURN_IF_ERROR(add_sequence(&piece, strcmp(key, "pair") == 0, out_template));
        } else {
            VKF_RETURN_IF_ERROR(vkf__section_get(&element, "SpecialToken", &piece));
            VKF_RETURN_IF_ERROR(add_special(&piece, specials, out_template));
        }
    }
    return VKF_OK;
}

static vkf_status load_template_processing(const vkf__json_section *section, vkf__post_processor *processor)
{
    vkf__json_section specials;
    VKF_RETURN_IF_ERROR(vkf__section_get(section, "special_tokens", &specials));
    VKF_RETURN_IF_ERROR(vkf__section_is_object(&specials));
    VKF_RETURN_IF_ERROR(load_template(section, "single", &specials, &processor->single));
    return load_template(section, "pair", &specials, &processor->pair);
}

// --- kinds with a fixed template

// Reads ["[SEP]", 102].
static vkf_status read_special(const vkf__json_section *section, const char *key, int32_t *out_id)
{
    const json_t *pair = json_object_get(section->object, key);
    const json_t *id = json_array_get(pair, 1);
    json_int_t value = json_integer_value(id);
    if (json_array_size(pair) != 2 || !json_is_integer(id) || value < 0 || value > VKF_TOKEN_MAX_ID)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key '%s' must be a text and an id", section->where, key);
    *out_id = (int32_t)value;
    return VKF_OK;
}

// A row of letters, each with a digit for its type before it: A and B are the sequences, C is cls and S is sep.
static vkf_status write_template(const vkf__host *host, const char *row, int32_t cls, int32_t sep,
                                 vkf__template *out_template)
{
    vkf_status status = VKF_OK;
    for (; *row && status == VKF_OK; row += 2) {
        char letter = row[1];
        vkf__part_kind kind = letter == 'A' ? VKF_PART_FIRST : letter == 'B' ? VKF_PART_SECOND : VKF_PART_SPECIAL;
        status = add_part(host, out_template, kind, letter == 'C' ? cls : sep, row[0] - '0');
    }
    return status;
}

static vkf_status load_fixed(const vkf__json_section *section, const char *single, const char *pair,
                             vkf__post_processor *processor)
{
    int32_t cls = 0;
    int32_t sep = 0;
    VKF_RETURN_IF_ERROR(read_special(section, "cls", &cls));
    VKF_RETURN_IF_ERROR(read_special(section, "sep", &sep));
    VKF_RETURN_IF_ERROR(write_template(section->host, single, cls, sep, &processor->single));
    return write_template(section->host, pair, cls, sep, &processor->pair);
}

static vkf_status load_bert(const vkf__json_section *section, vkf__post_processor *processor)
{
    return load_fixed(section, "0C0A0S", "0C0A0S1B1S", processor);
}

static vkf_status load_trim(const vkf__json_section *section, vkf__post_processor *processor)
{
    bool trim = true;
    processor->add_prefix_space = true;
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "trim_offsets", &trim));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "add_prefix_space", &processor->add_prefix_space));
    processor->trims += trim;
    return VKF_OK;
}

static vkf_status load_roberta(const vkf__json_section *section, vkf__post_processor *processor)
{
    vkf_status status = load_trim(section, processor);
    return status == VKF_OK ? load_fixed(section, "0C0A0S", "0C0A0S0S0B0S", processor) : status;
}

static const struct post_processor_kind {
    const char *name;
    bool has_template;
    vkf_status (*load)(const vkf__json_section *section, vkf__post_processor *processor);
} kinds[] = {
    {"BertProcessing", true, load_bert},
    {"ByteLevel", false, load_trim},
    {"RobertaProcessing", true, load_roberta},
    {"TemplateProcessing", true, load_template_processing},
    {"Sequence", false, NULL}, // taken apart beforehand
};

static vkf_status load_step(const vkf__json_section *section, void *user)
{
    vkf__post_processor *processor = user;
    size_t kind = 0;
    VKF_RETURN_IF_ERROR(vkf__section_type(section, kinds, sizeof *kinds, sizeof kinds / sizeof *kinds, &kind));
    if (kinds[kind].has_template && processor->has_template)
        return vkf__fail(section->host, VKF_ERROR_UNSUPPORTED,
                         "%s: a second post-processor that adds special tokens is not supported", section->where);
    processor->has_template = processor->has_template || kinds[kind].has_template;
    return kinds[kind].load(section, processor);
}

vkf_status vkf__post_processor_load(const vkf__host *host, const vkf__json_section *section,
                                    vkf__post_processor *out_processor)
{
    *out_processor = (vkf__post_processor){.host = host};
    if (section)
        VKF_RETURN_IF_ERROR(vkf__section_each(section, "processors", load_step, out_processor));
    if (!out_processor->has_template) {
        VKF_RETURN_IF_ERROR(write_template(host, "0A", 0, 0, &out_processor->single));
        VKF_RETURN_IF_ERROR(write_template(host, "0A1B", 0, 0, &out_processor->pair));
    }
    return VKF_OK;
}

void vkf__post_processor_free(vkf__post_processor *processor)
{
    vkf__free(processor->host, processor->single.parts);
    vkf__free(processor->host, processor->pair.parts);
    *processor = (vkf__post_processor){0};
}

static int32_t highest_id(const vkf__template *template, int32_t highest)
{
    for (size_t i = 0; i < template->count; i++)
        if (template->parts[i].kind == VKF_PART_SPECIAL && template->parts[i].id > highest)
            highest = template->parts[i].id;
    return highest;
}

int32_t vkf__post_processor_highest_id(const vkf__post_processor *processor)
{
    return highest_id(&processor->pair, highest_id(&processor->single, -1));
}
