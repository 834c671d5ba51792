// What models and sessions are given.
#include "valid_parts.h"

vkf_model_desc valid_vkf_model_desc(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_model_desc){.directory = valid_directory(function), .progress = go_on, .progress_user = &valid};
}

vkf_session_desc valid_vkf_session_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_session_desc){
        .max_batch = 1, .max_target_len = 8, .max_logit_rows = 4, .attention_weights = VKF_ATTENTION_DECODER};
}

// Whether a function leaves its results on the device, and is given nothing to write them to.
static bool leaves_results(const char *function)
{
    return is(function, "vkf_session_submit") || is(function, "vkf_session_prepare");
}

vkf_encode_args valid_vkf_encode_args(const char *function, const char *parameter)
{
    static uint32_t lengths[1];
    (void)parameter;
    lengths[0] = 2;
    if (is(function, "transformer"))
        return (vkf_encode_args){.batch = 1,
                                 .source_len = 2,
                                 .source = valid_memory(),
                                 .source_mask = valid_memory(),
                                 .source_key_mask = valid_memory(),
                                 .out_memory = valid_memory()};
    vkf_encode_args args = {
        .batch = 1,
        .source_len = 2,
        .source_ids = valid_memory(),
        .source_lengths = lengths,
        .source_types = valid_memory(), // with these the ids have to be there, too
    };
    if (!leaves_results(function)) {
        args.out_memory = valid_memory();
        args.out_embeddings = valid_memory();
    }
    return args;
}

vkf_decode_args valid_vkf_decode_args(const char *function, const char *parameter)
{
    (void)parameter;
    if (is(function, "transformer"))
        return (vkf_decode_args){.target_len = 2,
                                 .target = valid_memory(),
                                 .target_mask = valid_memory(),
                                 .target_key_mask = valid_memory(),
                                 .memory_mask = valid_memory(),
                                 .memory_key_mask = valid_memory(),
                                 .out_hidden = valid_memory()};
    return (vkf_decode_args){.batch = 1,
                             .target_len = 2,
                             .target_ids = valid_memory(),
                             .target_starts = valid_memory(),
                             .out_logits = valid_memory()};
}

vkf_greedy_args valid_vkf_greedy_args(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_greedy_args){.batch = 1,
                             .source_len = 2,
                             .source_ids = valid_memory(),
                             .out_ids = valid_memory(),
                             .out_lengths = valid_memory(),
                             .progress = go_on,
                             .progress_user = &valid};
}

static bool ends(void *user, uint32_t row, const int32_t *tokens, uint32_t count)
{
    (void)user;
    (void)row;
    (void)tokens;
    return count > 1;
}

static bool take_token(void *user, uint32_t row, int32_t token)
{
    (void)user;
    (void)row;
    return token >= 0;
}

vkf_prefill_args valid_vkf_prefill_args(const char *function, const char *parameter)
{
    static const uint32_t counts[] = {1};
    float *logits = leaves_results(function) ? NULL : valid_memory();
    (void)parameter;
    return (vkf_prefill_args){.batch = 1,
                              .ids = valid_memory(),
                              .counts = counts,
                              .out_logits = logits,
                              .out_all_logits = logits,
                              .progress = go_on,
                              .progress_user = &valid};
}

vkf_step_args valid_vkf_step_args(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_step_args){
        .batch = 1, .ids = valid_memory(), .out_logits = leaves_results(function) ? NULL : valid_memory()};
}

vkf_generate_args valid_vkf_generate_args(const char *function, const char *parameter)
{
    static uint32_t lengths[1];
    (void)function;
    (void)parameter;
    lengths[0] = 2;
    return (vkf_generate_args){.batch = 1,
                               .prompt_ids = valid_memory(),
                               .prompt_lengths = lengths,
                               .max_new_tokens = 2,
                               .stop_ids = valid_memory(),
                               .stop_count = 1,
                               .ends = ends,
                               .ends_user = &valid,
                               .on_token = take_token,
                               .on_token_user = &valid,
                               .progress = go_on,
                               .progress_user = &valid,
                               .out_ids = valid_memory(),
                               .out_lengths = valid_memory(),
                               .out_reasons = valid_memory(),
                               .out_cost = valid_memory()};
}

vkf_session_submit_desc valid_vkf_session_submit_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_session_submit_desc){0};
}

const char *valid_cache_path(void)
{
    return VKF_TEST_BINARY_DIR "/sweep.cache";
}

bool valid_vkf_write_fn(void *user, const void *bytes, size_t size_bytes)
{
    (void)user;
    return bytes && size_bytes > 0;
}

// From the beginning again when all was read.
bool valid_vkf_read_fn(void *user, void *out_bytes, size_t size_bytes)
{
    (void)user;
    if (valid.cache_read == valid.cache_bytes)
        valid.cache_read = 0;
    memcpy(out_bytes, valid.cache + valid.cache_read, size_bytes);
    valid.cache_read += size_bytes;
    return true;
}

bool valid_vkf_progress_fn(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user;
    (void)what;
    return done > total;
}
