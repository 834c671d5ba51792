// Turns the sides of an example into ids.
#include "train/example_tokens.h"

#include <inttypes.h>

#include "text/tokenizer.h"

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

// ---- texts

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

static vkf_status encode(const vkf_example_tokens *tokens, bool plain, const char *text, size_t size_bytes,
                         vkf_encoding *out_encoding)
{
    const vkf_encode_options options = {.no_special_tokens = plain, .truncation = VKF_TRUNCATION_NONE};
    return vkf_tokenizer_encode(tokens->tokenizer, &(vkf_text){text, size_bytes}, NULL, &options, out_encoding);
}

static vkf_status add_encoding(const vkf_example_tokens *tokens, const vkf_encoding *encoding, vkf_id_list *list)
{
    const uint32_t count = encoding->count;
    uint32_t head = 0, tail = 0;
    VKF_RETURN_IF_ERROR(make_room(tokens, list, (size_t)count + 1));
    for (uint32_t i = 0; i < count; i++)
        list->ids[list->count++] = encoding->ids[i];
    while (head < count && encoding->special_tokens_mask[head])
        head++;
    while (tail < count - head && encoding->special_tokens_mask[count - 1 - tail])
        tail++;
    list->head += head;
    list->tail += tail;
    return VKF_OK;
}

static vkf_status add_by_tokenizer(const vkf_example_tokens *tokens, bool plain, const char *text, size_t size_bytes,
                                   vkf_id_list *list)
{
    vkf_encoding encoding = {0};
    VKF_RETURN_IF_ERROR(encode(tokens, plain, text, size_bytes, &encoding));
    const vkf_status status = add_encoding(tokens, &encoding, list);
    vkf_encoding_free(&encoding);
    return status;
}

static vkf_status end_with(const vkf_example_tokens *tokens, int32_t id, vkf_id_list *list)
{
    if (id < 0 || (list->count > 0 && list->ids[list->count - 1] == id))
        return VKF_OK;
    list->tail++;
    return add_id(tokens, list, id);
}

static vkf_status take_source(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_id_list *list = &tokens->source;
    if (tokens->tables)
        VKF_RETURN_IF_ERROR(add_by_table(tokens, tokens->tables->source, example->source, example->source_bytes, list));
    else
        VKF_RETURN_IF_ERROR(add_by_tokenizer(tokens, false, example->source, example->source_bytes, list));
    return tokens->ends_sources ? end_with(tokens, tokens->last_target_id, list) : VKF_OK;
}

static vkf_status take_target(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_id_list *list = &tokens->target;
    VKF_RETURN_IF_ERROR(add_id(tokens, list, tokens->first_target_id));
    list->head = (uint32_t)list->count;
    if (tokens->tables)
        VKF_RETURN_IF_ERROR(add_by_table(tokens, tokens->tables->target, example->target, example->target_bytes, list));
    else
        VKF_RETURN_IF_ERROR(
            add_by_tokenizer(tokens, tokens->plain_targets, example->target, example->target_bytes, list));
    return end_with(tokens, tokens->last_target_id, list);
}

// ---- classes

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
    return bytes > 0 && number < tokens->label_count ? (uint32_t)number : tokens->label_count;
}

static vkf_status add_class(const vkf_example_tokens *tokens, uint32_t index, const char *label, size_t bytes,
                            vkf_id_list *list)
{
    char problem[160];
    const uint32_t class = class_of(tokens, label, bytes);
    if (class < tokens->label_count)
        return add_id(tokens, list, (int32_t) class);
    (void)snprintf(problem, sizeof problem, "its label '%.*s' is none of the model's %u classes",
                   (int)(bytes < 80 ? bytes : 80), label, tokens->label_count);
    return fail_example(tokens, index, VKF_ERROR_FORMAT, problem);
}

static vkf_status take_classes(vkf_example_tokens *tokens, const vkf_example *example, uint32_t index)
{
    vkf_example_items labels = vkf_example_labels(example);
    const char *label;
    size_t bytes;
    tokens->classes.count = 0;
    while (vkf_example_next(&labels, &label, &bytes))
        VKF_RETURN_IF_ERROR(add_class(tokens, index, label, bytes, &tokens->classes));
    return VKF_OK;
}

// ---- a label for each token

static vkf_status add_word(const vkf__host *host, const char *word, size_t bytes, const char *between,
                           vkf_joined_words *words)
{
    VKF_RETURN_IF_ERROR(vkf__grow(host, (void **)&words->begins, sizeof *words->begins, words->count,
                                  &words->begin_capacity, words->count + 1));
    VKF_RETURN_IF_ERROR(
        vkf__grow(host, (void **)&words->text, 1, words->size_bytes, &words->capacity, words->size_bytes + bytes + 1));
    words->begins[words->count] = words->size_bytes;
    if (words->count++ > 0 && *between)
        words->text[words->size_bytes++] = *between;
    memcpy(words->text + words->size_bytes, word, bytes);
    words->size_bytes += bytes;
    return VKF_OK;
}

static vkf_status join_words(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_example_items words = vkf_example_words(example);
    const char *word;
    size_t bytes;
    tokens->words.count = tokens->words.size_bytes = 0;
    while (vkf_example_next(&words, &word, &bytes))
        VKF_RETURN_IF_ERROR(add_word(tokens->host, word, bytes, " ", &tokens->words));
    return VKF_OK;
}

static bool is_special(const vkf_example_tokens *tokens, const vkf_encoding *encoding, uint32_t index)
{
    const vkf__added_token *added = vkf__added_token_by_id(&tokens->tokenizer->parts.added, encoding->ids[index]);
    return encoding->special_tokens_mask[index] || (added && added->special);
}

// Labels of words whose texts have no token stay out.
static bool put_tags(const vkf_example_tokens *tokens, const vkf_encoding *encoding, int32_t *out_labels)
{
    const vkf_joined_words *words = &tokens->words;
    size_t word = 0, unlabelled = 0; // the first word that has no token yet
    for (uint32_t i = 0; i < encoding->count; i++) {
        out_labels[i] = VKF_IGNORED_LABEL;
        if (encoding->special_tokens_mask[i])
            continue;
        while (word + 1 < words->count && words->begins[word + 1] <= encoding->offsets[i].begin)
            word++;
        if (word < unlabelled)
            continue;
        out_labels[i] = tokens->classes.ids[word];
        unlabelled = word + 1;
    }
    return unlabelled > 0;
}

static bool put_maskable(const vkf_example_tokens *tokens, const vkf_encoding *encoding, int32_t *out_labels)
{
    bool any = false;
    for (uint32_t i = 0; i < encoding->count; i++) {
        const bool special = is_special(tokens, encoding, i);
        out_labels[i] = special ? VKF_IGNORED_LABEL : encoding->ids[i];
        any = any || !special;
    }
    return any;
}

// An example in which there is nothing to learn has no target.
static vkf_status put_labels(vkf_example_tokens *tokens, const vkf_encoding *encoding)
{
    const bool tags = tokens->targets == VKF_TARGETS_TAGS;
    VKF_RETURN_IF_ERROR(add_encoding(tokens, encoding, &tokens->source));
    VKF_RETURN_IF_ERROR(make_room(tokens, &tokens->target, (size_t)encoding->count + 1));
    const bool any =
        tags ? put_tags(tokens, encoding, tokens->target.ids) : put_maskable(tokens, encoding, tokens->target.ids);
    tokens->target.count = any ? encoding->count : 0;
    return VKF_OK;
}

static vkf_status take_positions(vkf_example_tokens *tokens, const vkf_example *example)
{
    const bool tags = tokens->targets == VKF_TARGETS_TAGS;
    vkf_encoding encoding = {0};
    if (tags)
        VKF_RETURN_IF_ERROR(join_words(tokens, example));
    VKF_RETURN_IF_ERROR(encode(tokens, false, tags ? tokens->words.text : example->source,
                               tags ? tokens->words.size_bytes : example->source_bytes, &encoding));
    const vkf_status status = put_labels(tokens, &encoding);
    vkf_encoding_free(&encoding);
    return status;
}

// ---- a prompt and its completion

// A token that has a byte of the completion belongs to it, as what follows a prompt may change how its end is cut.
static bool is_learned(const vkf_example_tokens *tokens, const vkf_encoding *encoding, uint32_t index)
{
    return tokens->learns_prompts ||
           (!encoding->special_tokens_mask[index] && encoding->offsets[index].end > tokens->words.begins[1]);
}

static vkf_status put_completion(vkf_example_tokens *tokens, const vkf_encoding *encoding)
{
    vkf_id_list *source = &tokens->source, *target = &tokens->target;
    VKF_RETURN_IF_ERROR(add_encoding(tokens, encoding, source));
    VKF_RETURN_IF_ERROR(end_with(tokens, tokens->last_target_id, source));
    VKF_RETURN_IF_ERROR(make_room(tokens, target, source->count + 1));
    for (uint32_t i = 0; i < source->count; i++) {
        const bool ends = i + 1 == source->count && source->ids[i] == tokens->last_target_id;
        target->ids[i] = ends || is_learned(tokens, encoding, i) ? source->ids[i] : VKF_IGNORED_LABEL;
    }
    target->count = source->count;
    return VKF_OK;
}

// Both are read as one text, as a model that goes on from the prompt reads it.
static vkf_status take_completion(vkf_example_tokens *tokens, const vkf_example *example)
{
    vkf_joined_words *words = &tokens->words;
    vkf_encoding encoding = {0};
    words->count = words->size_bytes = 0;
    VKF_RETURN_IF_ERROR(add_word(tokens->host, example->source, example->source_bytes, "", words));
    VKF_RETURN_IF_ERROR(add_word(tokens->host, example->target, example->target_bytes, "", words));
    VKF_RETURN_IF_ERROR(encode(tokens, false, words->text, words->size_bytes, &encoding));
    const vkf_status status = put_completion(tokens, &encoding);
    vkf_encoding_free(&encoding);
    return status;
}

// ---- an example

static vkf_status take_tokens(vkf_example_tokens *tokens, const vkf_example *example)
{
    if (tokens->targets == VKF_TARGETS_TAGS || tokens->targets == VKF_TARGETS_MASKABLE)
        return take_positions(tokens, example);
    if (tokens->targets == VKF_TARGETS_COMPLETION)
        return take_completion(tokens, example);
    VKF_RETURN_IF_ERROR(take_source(tokens, example));
    return example->target && tokens->targets == VKF_TARGETS_TEXT ? take_target(tokens, example) : VKF_OK;
}

vkf_status vkf_example_tokens_get(void *user, uint32_t index, vkf_example_ids *out_ids)
{
    vkf_example_tokens *tokens = user;
    const vkf_example *example = NULL;
    VKF_RETURN_IF_ERROR(vkf_examples_get(tokens->examples, index, &example));
    tokens->source.count = tokens->target.count = 0;
    tokens->source.head = tokens->source.tail = tokens->target.head = tokens->target.tail = 0;
    if (tokens->targets == VKF_TARGETS_TAGS)
        VKF_RETURN_IF_ERROR(take_classes(tokens, example, index));
    const vkf_status status = take_tokens(tokens, example);
    if (status != VKF_OK)
        return fail_example(tokens, index, status, "cannot be turned into tokens");
    if (tokens->targets == VKF_TARGETS_CLASS)
        VKF_RETURN_IF_ERROR(add_class(tokens, index, example->target, example->target_bytes, &tokens->target));
    *out_ids = (vkf_example_ids){tokens->source.ids, tokens->target.ids, (uint32_t)tokens->source.count,
                                 (uint32_t)tokens->target.count};
    return VKF_OK;
}

void vkf_example_tokens_clear(vkf_example_tokens *tokens)
{
    if (tokens->host) {
        vkf__free(tokens->host, tokens->source.ids);
        vkf__free(tokens->host, tokens->target.ids);
        vkf__free(tokens->host, tokens->classes.ids);
        vkf__free(tokens->host, tokens->words.text);
        vkf__free(tokens->host, tokens->words.begins);
    }
    *tokens = (vkf_example_tokens){0};
}
