// Turns the sides of an example into ids.
#include "train/example_tokens.h"

#include <inttypes.h>

static vkf_status fail_example(const vkf_example_tokens *tokens, uint32_t example, vkf_status status,
                               const char *problem)
{
    const vkf_example_place place = vkf_examples_place(tokens->examples, example);
    return vkf__fail(tokens->host, status, "%s, line %" PRIu64 ": %s", place.path, place.line, problem);
}

static vkf_status make_room(const vkf_example_tokens *tokens, vkf_id_list *list, size_t more)
{
    return vkf__grow(tokens->host, (void **)&list->ids, sizeof *list->ids, list->count, &list->capacity,
                     list->count + more);
}

static vkf_status add_id(const vkf_example_tokens *tokens, vkf_id_list *list, int32_t id)
{
    if (id < 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(make_room(tokens, list, 1));
    list->ids[list->count++] = id;
    return VKF_OK;
}

static vkf_status add_by_table(const vkf_example_tokens *tokens, const vkf__token_table *table, const char *text,
                               size_t size_bytes, vkf_id_list *list)
{
    uint32_t count = 0;
    VKF_RETURN_IF_ERROR(vkf__token_table_encode(table, text, size_bytes, &count, NULL));
    VKF_RETURN_IF_ERROR(make_room(tokens, list, (size_t)count + 1));
    VKF_RETURN_IF_ERROR(vkf__token_table_encode(table, text, size_bytes, &count, list->ids + list->count));
    list->count += count;
    return VKF_OK;
}

static vkf_status add_by_tokenizer(const vkf_example_tokens *tokens, bool plain, const char *text, size_t size_bytes,
                                   vkf_id_list *list)
{
    const vkf_encode_options options = {.no_special_tokens = plain, .truncation = VKF_TRUNCATION_NONE};
    vkf_encoding encoding = {0};
    VKF_RETURN_IF_ERROR(
        vkf_tokenizer_encode(tokens->tokenizer, text, size_bytes, NULL, 0, &options, &encoding));
    vkf_status status = make_room(tokens, list, (size_t)encoding.count + 1);
    for (uint32_t i = 0; status == VKF_OK && i < encoding.count; i++)
        list->ids[list->count++] = encoding.ids[i];
    vkf_encoding_free(&encoding);
    return status;
}

static vkf_status take_source(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_id_list *list = &tokens->source;
    const int32_t end = tokens->ends_sources ? tokens->last_target_id : -1;
    if (tokens->tables)
        VKF_RETURN_IF_ERROR(
            add_by_table(tokens, tokens->tables->source, example->source, example->source_bytes, list));
    else
        VKF_RETURN_IF_ERROR(add_by_tokenizer(tokens, false, example->source, example->source_bytes, list));
    return list->count > 0 && list->ids[list->count - 1] == end ? VKF_OK : add_id(tokens, list, end);
}

static vkf_status take_target(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_id_list *list = &tokens->target;
    VKF_RETURN_IF_ERROR(add_id(tokens, list, tokens->first_target_id));
    if (tokens->tables)
        VKF_RETURN_IF_ERROR(
            add_by_table(tokens, tokens->tables->target, example->target, example->target_bytes, list));
    else
        VKF_RETURN_IF_ERROR(
            add_by_tokenizer(tokens, tokens->plain_targets, example->target, example->target_bytes, list));
    return add_id(tokens, list, tokens->last_target_id);
}

// A class's number; label_count where the text is neither a name nor a number of one. A name may look like a number.
static uint32_t class_of(const vkf_example_tokens *tokens, const char *label, size_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; tokens->labels && i < tokens->label_count; i++)
        if (strlen(tokens->labels[i]) == bytes && memcmp(tokens->labels[i], label, bytes) == 0)
            return i;
    for (size_t i = 0; i < bytes; i++) {
        if (label[i] < '0' || label[i] > '9' || number > UINT32_MAX)
            return tokens->label_count;
        number = 10 * number + (uint64_t)(label[i] - '0');
    }
    return number < tokens->label_count ? (uint32_t)number : tokens->label_count;
}

static vkf_status take_label(vkf_example_tokens *tokens, const vkf_example *example, uint32_t index)
{
    char problem[160];
    const uint32_t class = class_of(tokens, example->target, example->target_bytes);
    if (class == tokens->label_count) {
        (void)snprintf(problem, sizeof problem, "its label '%.*s' is none of the model's %u classes",
                       (int)(example->target_bytes < 80 ? example->target_bytes : 80), example->target,
                       tokens->label_count);
        return fail_example(tokens, index, VKF_ERROR_FORMAT, problem);
    }
    return add_id(tokens, &tokens->target, (int32_t) class);
}

vkf_status vkf_example_tokens_get(void *user, uint32_t index, vkf_example_ids *out_ids)
{
    vkf_example_tokens *tokens = user;
    const vkf_example *example = NULL;
    VKF_RETURN_IF_ERROR(vkf_examples_get(tokens->examples, index, &example));
    tokens->source.count = tokens->target.count = 0;
    vkf_status status = take_source(tokens, example);
    if (status == VKF_OK && example->target && !tokens->class_targets)
        status = take_target(tokens, example);
    if (status != VKF_OK)
        return fail_example(tokens, index, status, "cannot be turned into tokens");
    if (example->target && tokens->class_targets)
        VKF_RETURN_IF_ERROR(take_label(tokens, example, index));
    *out_ids = (vkf_example_ids){tokens->source.ids, tokens->target.ids, (uint32_t)tokens->source.count,
                                 (uint32_t)tokens->target.count};
    return VKF_OK;
}

void vkf_example_tokens_clear(vkf_example_tokens *tokens)
{
    if (tokens->host) {
        vkf__free(tokens->host, tokens->source.ids);
        vkf__free(tokens->host, tokens->target.ids);
    }
    *tokens = (vkf_example_tokens){0};
}
