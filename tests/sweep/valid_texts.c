// What generators, embedders and tokenizers are given.
#include "valid_parts.h"

const char *valid_directory(const char *function)
{
    if (is(function, "vkf_vocabulary"))
        return VKF_TEST_SOURCE_DIR "/tools/demo-model";
    return is(function, "vkf_embedder") ? VKF_TEST_SOURCE_DIR "/tests/pretrained/bert"
                                        : VKF_TEST_SOURCE_DIR "/tests/pretrained/llama";
}

vkf_generator_desc valid_vkf_generator_desc(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_generator_desc){
        .directory = valid_directory(function), .max_context = 8, .progress = go_on, .progress_user = &valid};
}

static bool take_text(void *user, uint32_t prompt, const char *bytes, size_t size_bytes)
{
    (void)user;
    (void)prompt;
    return bytes && size_bytes > 0;
}

static const vkf_text *one_text(vkf_text *text)
{
    *text = (vkf_text){"ab", 2};
    return text;
}

vkf_generator_args valid_vkf_generator_args(const char *function, const char *parameter)
{
    static vkf_text prompt, stop;
    (void)function;
    (void)parameter;
    vkf_continuation_free(&valid.continuation);
    return (vkf_generator_args){.prompts = one_text(&prompt),
                                .count = 1,
                                .max_new_tokens = 2,
                                .stops = one_text(&stop),
                                .stop_count = 1,
                                .on_text = take_text,
                                .on_text_user = &valid,
                                .progress = go_on,
                                .progress_user = &valid,
                                .out_continuations = &valid.continuation,
                                .out_cost = valid_memory()};
}

vkf_embedder_desc valid_vkf_embedder_desc(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_embedder_desc){.directory = valid_directory(function), .max_batch = 1, .max_tokens = 8};
}

vkf_embed_args valid_vkf_embed_args(const char *function, const char *parameter)
{
    static vkf_text text, pair;
    (void)function;
    (void)parameter;
    return (vkf_embed_args){.texts = one_text(&text),
                            .pairs = one_text(&pair),
                            .options = valid_memory(),
                            .count = 1,
                            .out_embeddings = valid_memory(),
                            .out_token_counts = valid_memory(),
                            .progress = go_on,
                            .progress_user = &valid};
}

vkf_text valid_vkf_text(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_text){"ab", 2};
}

vkf_tokenizer_desc valid_vkf_tokenizer_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_tokenizer_desc){.path = valid_directory(function),
                                .message = take_message,
                                .message_user = &valid,
                                .allocator = {allocate, release, &valid}};
}

vkf_inspection_desc valid_vkf_inspection_desc(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_inspection_desc){.directory = valid_directory(function), .message = take_message};
}

vkf_quantize_desc valid_vkf_quantize_desc(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_quantize_desc){.directory = VKF_TEST_SOURCE_DIR "/tools/demo-model",
                               .out_directory = valid_checkpoint(function),
                               .quantization = VKF_QUANTIZATION_Q8,
                               .progress = go_on,
                               .message = take_message};
}

vkf_file_list valid_vkf_file_list(const char *function, const char *parameter)
{
    static vkf_listed_file file;
    (void)function;
    (void)parameter;
    file = (vkf_listed_file){.name = "a", .bytes = "b", .size_bytes = 1};
    return (vkf_file_list){.files = &file, .count = 1};
}

vkf_encode_options valid_vkf_encode_options(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_encode_options){0};
}
