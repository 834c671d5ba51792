// Public entry points of vocabularies.
#include <stdio.h>
#include <string.h>

#include <vkformer/model.h>

#include "io/path.h"
#include "io/token_table.h"
#include "kernel/context.h"

struct vkf_vocabulary {
    vkf_context *context;
    vkf__token_tables tables;
};

vkf_status vkf_vocabulary_load(vkf_context *context, const char *directory, vkf_vocabulary **out_vocabulary)
{
    if (!context || !directory || !out_vocabulary)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    vkf_vocabulary *vocabulary = NULL;
    char *path = NULL;
    VKF_TRY(vkf__path_join(&context->host, directory, "vocabulary.json", &path));
    VKF_ALLOC(&context->host, vocabulary, 1);
    vocabulary->context = context;
    VKF_TRY(vkf__token_tables_load(&context->host, path, &vocabulary->tables));
    vkf__context_hold(context, VKF_MADE_VOCABULARY);
    *out_vocabulary = vocabulary;
    vocabulary = NULL;
fail:
    vkf__free(&context->host, vocabulary);
    vkf__free(&context->host, path);
    return status;
}

void vkf_vocabulary_destroy(vkf_vocabulary **vocabulary)
{
    if (!vocabulary || !*vocabulary)
        return;
    vkf_context *context = (*vocabulary)->context;
    if (!vkf__context_is_inherited(context)) {
        vkf__token_tables_free(&(*vocabulary)->tables);
        vkf__free(&context->host, *vocabulary);
        vkf__context_drop(context, VKF_MADE_VOCABULARY);
    }
    *vocabulary = NULL;
}

vkf_status vkf_vocabulary_encode(const vkf_vocabulary *vocabulary, const char *text, size_t text_bytes,
                                 uint32_t *inout_count, int32_t *out_ids)
{
    if (!vocabulary || (!text && text_bytes > 0) || !inout_count)
        return vkf__null_argument(__func__);
    return vkf__token_table_encode(vocabulary->tables.source, text, text_bytes, inout_count, out_ids);
}

vkf_status vkf_vocabulary_decode(const vkf_vocabulary *vocabulary, const int32_t *ids, uint32_t count,
                                 size_t *inout_bytes, char *out_text)
{
    if (!vocabulary || (!ids && count > 0) || !inout_bytes)
        return vkf__null_argument(__func__);
    return vkf__token_table_decode(vocabulary->tables.target, ids, count, inout_bytes, out_text);
}

const char *vkf_vocabulary_source_token(const vkf_vocabulary *vocabulary, int32_t id)
{
    return vocabulary ? vkf__token_table_text(vocabulary->tables.source, id) : NULL;
}

const char *vkf_vocabulary_target_token(const vkf_vocabulary *vocabulary, int32_t id)
{
    return vocabulary ? vkf__token_table_text(vocabulary->tables.target, id) : NULL;
}
