// Turns the sides of an example into ids.
#include "train/example_tokens.h"

#include <inttypes.h>

static vkf_status fail_example(const vkf_example_tokens *tokens, uint32_t example, vkf_status status,
                               const char *problem)
{
    const vkf_example_place place = vkf_examples_place(tokens->examples, example);
    return vkf__fail(tokens->host, status, "%s, line %" PRIu64 ": %s", place.path, place.line, problem);
}

static vkf_status encode(const vkf_example_tokens *tokens, const char *text, size_t size_bytes, bool plain,
                         vkf_encoding *out_encoding)
{
    const vkf_encode_options options = {.no_special_tokens = plain, .truncation = VKF_TRUNCATION_NONE};
    return vkf_tokenizer_encode(tokens->tokenizer, text, size_bytes, NULL, 0, &options, out_encoding);
}

static vkf_status make_room(vkf_example_tokens *tokens, size_t count)
{
    return vkf__grow(tokens->host, (void **)&tokens->target_ids, sizeof *tokens->target_ids, 0,
                     &tokens->target_capacity, count);
}

static void add_target(vkf_example_tokens *tokens, int32_t id)
{
    if (id >= 0)
        tokens->target_ids[tokens->target_count++] = id;
}

static vkf_status take_text(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_encoding encoding = {0};
    VKF_RETURN_IF_ERROR(encode(tokens, example->target, example->target_bytes, tokens->plain_targets, &encoding));
    vkf_status status = make_room(tokens, (size_t)encoding.count + 2);
    if (status == VKF_OK) {
        add_target(tokens, tokens->first_target_id);
        for (uint32_t i = 0; i < encoding.count; i++)
            add_target(tokens, encoding.ids[i]);
        add_target(tokens, tokens->last_target_id);
    }
    vkf_encoding_free(&encoding);
    return status;
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
    VKF_RETURN_IF_ERROR(make_room(tokens, 1));
    add_target(tokens, (int32_t) class);
    return VKF_OK;
}

vkf_status vkf_example_tokens_get(void *user, uint32_t index, vkf_example_ids *out_ids)
{
    vkf_example_tokens *tokens = user;
    const vkf_example *example = NULL;
    VKF_RETURN_IF_ERROR(vkf_examples_get(tokens->examples, index, &example));
    vkf_encoding_free(&tokens->source);
    tokens->target_count = 0;
    vkf_status status = encode(tokens, example->source, example->source_bytes, false, &tokens->source);
    if (status == VKF_OK && example->target && !tokens->class_targets)
        status = take_text(tokens, example);
    if (status != VKF_OK)
        return fail_example(tokens, index, status, "cannot be turned into tokens");
    if (example->target && tokens->class_targets)
        VKF_RETURN_IF_ERROR(take_label(tokens, example, index));
    *out_ids =
        (vkf_example_ids){tokens->source.ids, tokens->target_ids, tokens->source.count, (uint32_t)tokens->target_count};
    return VKF_OK;
}

void vkf_example_tokens_clear(vkf_example_tokens *tokens)
{
    vkf_encoding_free(&tokens->source);
    if (tokens->host)
        vkf__free(tokens->host, tokens->target_ids);
    *tokens = (vkf_example_tokens){0};
}
