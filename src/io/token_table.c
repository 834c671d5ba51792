// Reads vocabulary.json, and encodes and decodes with its lists.
#include "io/token_table.h"

#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/json_file.h"
#include "io/token_match.h"

struct vkf__token_table {
    vkf__host host;
    char *strings;      // all strings, zero-terminated, one after the other
    const char **texts; // by id
    uint32_t count;
    int32_t *sorted; // the ids, without the special ones, sorted by the bytes of their strings
    bool lowercase;
    bool append_eos;
};

static const char *const special_texts[VKF_TOKEN_SPECIAL_COUNT] = {
    [VKF_TOKEN_PAD] = "<pad>",
    [VKF_TOKEN_BOS] = "<bos>",
    [VKF_TOKEN_EOS] = "<eos>",
    [VKF_TOKEN_UNK] = "<unk>",
};

// A token and its id, while the list is sorted.
typedef struct token {
    const char *text;
    int32_t id;
} token;

static int compare_tokens(const void *a, const void *b)
{
    return strcmp(((const token *)a)->text, ((const token *)b)->text);
}

// What messages call the list: its file and its key.
typedef struct list_place {
    const vkf__host *host;
    const char *path;
    const char *key;
} list_place;

static vkf_status check_list(const list_place *place, const json_t *list, size_t *out_bytes)
{
    size_t count = json_array_size(list);
    if (count < VKF_TOKEN_SPECIAL_COUNT || count > INT32_MAX)
        return vkf__fail(place->host, VKF_ERROR_FORMAT,
                         "%s: %s.tokens is missing or not a list that begins with the four special tokens", place->path,
                         place->key);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_string(value) || json_string_length(value) == 0)
            return vkf__fail(place->host, VKF_ERROR_FORMAT, "%s: %s.tokens[%zu] is empty or not a string", place->path,
                             place->key, i);
        if (i < VKF_TOKEN_SPECIAL_COUNT && strcmp(json_string_value(value), special_texts[i]) != 0)
            return vkf__fail(place->host, VKF_ERROR_FORMAT,
                             "%s: %s.tokens[%zu] is '%.40s'; the special token '%s' must stand there", place->path,
                             place->key, i, json_string_value(value), special_texts[i]);
        bytes += json_string_length(value) + 1;
    }
    *out_bytes = bytes;
    return VKF_OK;
}

static void copy_strings(vkf__token_table *table, const json_t *list)
{
    char *text = table->strings;
    for (uint32_t id = 0; id < table->count; id++) {
        const json_t *value = json_array_get(list, id);
        size_t bytes = json_string_length(value) + 1;
        memcpy(text, json_string_value(value), bytes);
        table->texts[id] = text;
        text += bytes;
    }
}

static vkf_status sort_tokens(const list_place *place, vkf__token_table *table)
{
    vkf_status status = VKF_OK;
    token *tokens = NULL;
    VKF_ALLOC(place->host, tokens, table->count);
    for (uint32_t id = 0; id < table->count; id++)
        tokens[id] = (token){.text = table->texts[id], .id = (int32_t)id};
    qsort(tokens, table->count, sizeof *tokens, compare_tokens);
    size_t sorted = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        if (i > 0 && strcmp(tokens[i - 1].text, tokens[i].text) == 0) {
            status = vkf__fail(place->host, VKF_ERROR_FORMAT, "%s: %s.tokens: duplicate token '%.200s' (ids %d and %d)",
                               place->path, place->key, tokens[i].text, (int)tokens[i - 1].id, (int)tokens[i].id);
            goto fail;
        }
        if (tokens[i].id >= VKF_TOKEN_SPECIAL_COUNT)
            table->sorted[sorted++] = tokens[i].id;
    }
fail:
    vkf__free(place->host, tokens);
    return status;
}

static void free_table(vkf__token_table *table)
{
    if (!table)
        return;
    vkf__host host = table->host;
    vkf__free(&host, table->sorted);
    vkf__free(&host, table->texts);
    vkf__free(&host, table->strings);
    vkf__free(&host, table);
}

static vkf_status optional_bool(const list_place *place, const json_t *object, const char *key, bool *out_value)
{
    if (!json_object_get(object, key))
        return VKF_OK;
    return vkf__json_bool(place->host, place->path, object, key, out_value);
}

static vkf_status make_table(const list_place *place, const json_t *object, vkf__token_table **out_table)
{
    vkf_status status = VKF_OK;
    vkf__token_table *table = NULL;
    const json_t *list = json_object_get(object, "tokens");
    size_t bytes = 0;
    if (!json_is_object(object))
        return vkf__fail(place->host, VKF_ERROR_FORMAT, "%s: key '%s' is missing or not an object", place->path,
                         place->key);
    VKF_TRY(check_list(place, list, &bytes));
    VKF_ALLOC(place->host, table, 1);
    table->host = *place->host;
    table->count = (uint32_t)json_array_size(list);
    VKF_TRY(optional_bool(place, object, "lowercase", &table->lowercase));
    VKF_TRY(optional_bool(place, object, "append_eos", &table->append_eos));
    VKF_ALLOC(place->host, table->strings, bytes);
    VKF_ALLOC(place->host, table->texts, table->count);
    VKF_ALLOC(place->host, table->sorted, table->count);
    copy_strings(table, list);
    VKF_TRY(sort_tokens(place, table));
    *out_table = table;
    return VKF_OK;
fail:
    free_table(table);
    return status;
}

vkf_status vkf__token_tables_parse(const vkf__host *host, const char *path, const char *text, size_t text_bytes,
                                   vkf__token_tables *out_tables)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    vkf__token_tables tables = {0};
    list_place place = {.host = host, .path = path};
    VKF_TRY(vkf__json_parse(host, path, text, text_bytes, &root));
    place.key = "source";
    VKF_TRY(make_table(&place, json_object_get(root, place.key), &tables.source));
    place.key = "target";
    VKF_TRY(make_table(&place, json_object_get(root, place.key), &tables.target));
    json_decref(root);
    *out_tables = tables;
    return VKF_OK;
fail:
    vkf__token_tables_free(&tables);
    json_decref(root);
    return status;
}

vkf_status vkf__token_tables_load(const vkf__host *host, const char *path, vkf__token_tables *out_tables)
{
    vkf__file_bytes file;
    vkf_status status = vkf__file_read(host, path, VKF_JSON_MAX_BYTES, &file);
    if (status != VKF_OK)
        return status;
    status = vkf__token_tables_parse(host, path, (const char *)file.data, file.size_bytes, out_tables);
    vkf__file_bytes_free(host, &file);
    return status;
}

void vkf__token_tables_free(vkf__token_tables *tables)
{
    if (!tables)
        return;
    free_table(tables->source);
    free_table(tables->target);
    *tables = (vkf__token_tables){0};
}

uint32_t vkf__token_table_count(const vkf__token_table *table)
{
    return table->count;
}

const char *vkf__token_table_text(const vkf__token_table *table, int32_t id)
{
    return id >= 0 && (uint32_t)id < table->count ? table->texts[id] : NULL;
}

// Writes the ids of a text, at most one for every byte, and eos; only counts them when `ids` is NULL.
static uint32_t encode(const vkf__token_table *table, const char *text, size_t text_bytes, int32_t *ids)
{
    vkf__sorted_tokens tokens = {
        .texts = table->texts, .sorted = table->sorted, .count = table->count - VKF_TOKEN_SPECIAL_COUNT};
    uint32_t count = 0;
    for (size_t at = 0; at < text_bytes; count++) {
        int32_t id = VKF_TOKEN_UNK;
        size_t bytes = vkf__match_token(&tokens, text + at, text_bytes - at, table->lowercase, &id);
        if (ids)
            ids[count] = id;
        at += bytes > 0 ? bytes : vkf__code_point_bytes(text + at, text_bytes - at);
    }
    if (table->append_eos) {
        if (ids)
            ids[count] = VKF_TOKEN_EOS;
        count++;
    }
    return count;
}

vkf_status vkf__token_table_encode(const vkf__token_table *table, const char *text, size_t text_bytes,
                                   uint32_t *inout_count, int32_t *out_ids)
{
    if (text_bytes >= UINT32_MAX)
        return vkf__fail(&table->host, VKF_ERROR_INVALID_ARGUMENT, "text of %zu bytes: must be shorter than 4 GiB",
                         text_bytes);
    uint32_t capacity = *inout_count;
    uint32_t needed = encode(table, text, text_bytes, NULL);
    *inout_count = needed;
    if (!out_ids)
        return VKF_OK;
    if (needed > capacity)
        return vkf__fail(&table->host, VKF_ERROR_TOO_LARGE, "text of %lu tokens, but room for %lu ids only",
                         (unsigned long)needed, (unsigned long)capacity);
    encode(table, text, text_bytes, out_ids);
    return VKF_OK;
}

static vkf_status decoded_bytes(const vkf__token_table *table, const int32_t *ids, uint32_t count, size_t *out_bytes)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *text = vkf__token_table_text(table, ids[i]);
        if (!text)
            return vkf__fail(&table->host, VKF_ERROR_INVALID_ARGUMENT, "ids[%lu] is %ld; there are %lu tokens",
                             (unsigned long)i, (long)ids[i], (unsigned long)table->count);
        if (ids[i] >= VKF_TOKEN_SPECIAL_COUNT)
            bytes += strlen(text);
    }
    if (bytes >= SIZE_MAX)
        return vkf__fail(&table->host, VKF_ERROR_INVALID_ARGUMENT, "the text of %lu ids exceeds the address space",
                         (unsigned long)count);
    *out_bytes = (size_t)bytes;
    return VKF_OK;
}

vkf_status vkf__token_table_decode(const vkf__token_table *table, const int32_t *ids, uint32_t count,
                                   size_t *inout_bytes, char *out_text)
{
    size_t capacity = *inout_bytes;
    size_t bytes = 0;
    vkf_status status = decoded_bytes(table, ids, count, &bytes);
    if (status != VKF_OK)
        return status;
    *inout_bytes = bytes;
    if (!out_text)
        return VKF_OK;
    if (capacity <= bytes)
        return vkf__fail(&table->host, VKF_ERROR_TOO_LARGE, "text of %zu bytes and a zero, but room for %zu bytes only",
                         bytes, capacity);
    char *end = out_text;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] >= VKF_TOKEN_SPECIAL_COUNT) {
            size_t length = strlen(table->texts[ids[i]]);
            memcpy(end, table->texts[ids[i]], length);
            end += length;
        }
    }
    *end = '\0';
    return VKF_OK;
}
