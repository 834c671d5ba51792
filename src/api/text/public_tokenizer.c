// Public entry points of tokenizers.
#include "io/source_file.h"
#include "model/text/tokenizer_config.h"
#include "text/tokenizer.h"

#include "base/sized.h"

vkf_status vkf_tokenizer_load_sized(const vkf_tokenizer_desc *desc, size_t desc_bytes, vkf_tokenizer **out_tokenizer)
{
    if (!desc || !out_tokenizer)
        return vkf__null_argument(__func__);
    vkf_tokenizer_desc full = {0};
    const bool known = vkf__read_sized(&full, sizeof full, desc, desc_bytes);
    vkf__host host;
    VKF_RETURN_IF_ERROR(vkf__host_init(&host, &full.allocator, full.message, full.message_user, full.min_severity));
    if (!known)
        return vkf__refuse_sized(&host, "vkf_tokenizer_load", sizeof full, desc, desc_bytes);
    if (!full.path)
        return vkf__fail(&host, VKF_ERROR_INVALID_ARGUMENT, "vkf_tokenizer_load: path is NULL");
    VKF_RETURN_IF_ERROR(vkf__source_check(&host, full.files, "vkf_tokenizer_load"));
    host = vkf__host_with_files(&host, full.files, full.path);
    return vkf__tokenizer_make(&host, full.path, out_tokenizer);
}

vkf_status vkf_tokenizer_encode(const vkf_tokenizer *tokenizer, const vkf_text *text, const vkf_text *pair,
                                const vkf_encode_options *options, vkf_encoding *out_encoding)
{
    static const vkf_encode_options defaults = {0};
    const vkf_text second = pair ? *pair : (vkf_text){0};
    if (!tokenizer || !text || (!text->bytes && text->size_bytes > 0) || (!second.bytes && second.size_bytes > 0) ||
        !out_encoding)
        return vkf__null_argument(__func__);
    const vkf_encode_options *wanted = options ? options : &defaults;
    if ((unsigned)wanted->truncation >= VKF_TRUNCATION_COUNT)
        return vkf__fail(&tokenizer->host, VKF_ERROR_INVALID_ARGUMENT, "truncation %u is no vkf_truncation",
                         (unsigned)wanted->truncation);
    VKF_RETURN_IF_ERROR(vkf__check_reserved(&tokenizer->host, "vkf_tokenizer_encode", "vkf_encode_options",
                                            wanted->reserved, sizeof wanted->reserved));
    return vkf__tokenizer_encode(&tokenizer->parts, text->bytes, text->size_bytes,
                                 pair && !second.bytes ? "" : second.bytes, second.size_bytes, wanted, out_encoding);
}

vkf_status vkf_tokenizer_decode(const vkf_tokenizer *tokenizer, const int32_t *ids, uint32_t count,
                                bool skip_special_tokens, size_t *inout_bytes, char *out_text)
{
    if (!tokenizer || (!ids && count > 0) || !inout_bytes)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(
        vkf__tokenizer_decode(&tokenizer->parts, ids, count, skip_special_tokens, inout_bytes, out_text));
    if (out_text && tokenizer->cleans_up)
        *inout_bytes = vkf__clean_up_blanks(out_text, *inout_bytes);
    return VKF_OK;
}

int32_t vkf_tokenizer_token_to_id(const vkf_tokenizer *tokenizer, const char *token)
{
    return tokenizer && token ? vkf__tokenizer_token_to_id(&tokenizer->parts, token) : -1;
}

const char *vkf_tokenizer_id_to_token(const vkf_tokenizer *tokenizer, int32_t id)
{
    return tokenizer ? vkf__tokenizer_id_to_token(&tokenizer->parts, id) : NULL;
}

uint32_t vkf_tokenizer_get_vocab_size(const vkf_tokenizer *tokenizer)
{
    return tokenizer ? vkf__tokenizer_vocab_size(&tokenizer->parts) : 0;
}

void vkf_tokenizer_get_info_sized(const vkf_tokenizer *tokenizer, vkf_tokenizer_info *out_info, size_t info_bytes)
{
    if (tokenizer && out_info)
        (void)vkf__give_sized(out_info, info_bytes, &tokenizer->parts.info, sizeof tokenizer->parts.info);
}
