// Makes valid arguments of every type for the sweep over public functions.
#include "valid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embedded_words.h"
#include "pretrained.h"

enum { BATCH = 1, LEN = 4, DIM = 16, HEADS = 2, HIDDEN = 32, MEMORY_BYTES = 1 << 16, MEMORIES = 8 };

static const vkf_layer_sizes layer_sizes = {BATCH, LEN, LEN};
static const vkf_model_config transformer = {
    .kind = VKF_MODEL_TRANSFORMER,
    .d_model = 8,
    .num_heads = 2,
    .dim_feedforward = 8,
    .num_encoder_layers = 1,
    .num_decoder_layers = 1,
    .activation = VKF_ACTIVATION_RELU,
    .layer_norm_eps = 1e-5f,
};
static const vkf_attention_mask masked = {.kind = VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_BOOL_EXCLUDE};

valid_arguments valid;

void *valid_memory(void)
{
    static uint64_t memories[MEMORIES][MEMORY_BYTES / sizeof(uint64_t)];
    static unsigned turn;
    return memset(memories[turn++ % MEMORIES], 0, sizeof memories[0]);
}

size_t *valid_capacity(void)
{
    size_t *capacity = valid_memory();
    *capacity = 256;
    return capacity;
}

uint32_t *valid_capacity32(void)
{
    uint32_t *capacity = valid_memory();
    *capacity = 16;
    return capacity;
}

vkf_buffer *valid_foreign_buffer(void)
{
    return valid.foreign;
}

static bool is(const char *function, const char *part)
{
    return strstr(function, part) != NULL;
}

const char *valid_directory(const char *function)
{
    if (is(function, "vkf_vocabulary"))
        return VKF_TEST_SOURCE_DIR "/tools/demo-model";
    return is(function, "vkf_embedder") ? VKF_TEST_SOURCE_DIR "/tests/pretrained/bert"
                                        : VKF_TEST_SOURCE_DIR "/tests/pretrained/llama";
}

static vkf_tensor view(vkf_buffer *buffer, vkf_dtype dtype, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    vkf_tensor tensor = {.buffer = buffer, .dtype = dtype, .rank = 1u + (b > 0) + (c > 0) + (d > 0)};
    memcpy(tensor.shape, (uint32_t[]){a, b, c, d}, sizeof tensor.shape);
    return tensor;
}

static vkf_tensor in(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return view(valid.in, VKF_DTYPE_F32, a, b, c, d);
}

static vkf_tensor out(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return view(valid.out, VKF_DTYPE_F32, a, b, c, d);
}

vkf_tensor valid_vkf_tensor(const char *function, const char *parameter)
{
    bool result = strcmp(parameter, "out") == 0;
    if (is(function, "_heads"))
        return result ? out(1, 2, 2, 4) : in(1, 2, 2, 4);
    if (is(function, "vkf_argmax"))
        return result ? view(valid.out, VKF_DTYPE_I32, 2, 0, 0, 0) : in(2, 8, 0, 0);
    if (is(function, "vkf_pack_weight"))
        return in(32, 32, 0, 0);
    return result ? out(64, 0, 0, 0) : in(64, 0, 0, 0);
}

vkf_gemm_desc valid_vkf_gemm_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_gemm_desc){.a = in(LEN, DIM, 0, 0),
                           .b = in(DIM, DIM, 0, 0),
                           .c = in(LEN, DIM, 0, 0),
                           .bias = in(DIM, 0, 0, 0),
                           .residual = in(LEN, DIM, 0, 0),
                           .out = out(LEN, DIM, 0, 0),
                           .alpha = 1,
                           .beta = 1};
}

vkf_softmax_desc valid_vkf_softmax_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_softmax_desc){.x = in(BATCH, HEADS, LEN, LEN),
                              .out = out(BATCH, HEADS, LEN, LEN),
                              .mask_kind = VKF_MASK_ADDITIVE,
                              .mask = in(LEN, LEN, 0, 0),
                              .key_mask_kind = VKF_MASK_LENGTHS,
                              .key_mask = view(valid.in, VKF_DTYPE_I32, BATCH, 0, 0, 0)};
}

vkf_sdpa_desc valid_vkf_sdpa_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_sdpa_desc){.query = in(BATCH, HEADS, LEN, 8),
                           .key = in(BATCH, HEADS, LEN, 8),
                           .value = in(BATCH, HEADS, LEN, 8),
                           .out = out(BATCH, HEADS, LEN, 8),
                           .mask_kind = VKF_MASK_ADDITIVE,
                           .mask = in(LEN, LEN, 0, 0),
                           .key_mask_kind = VKF_MASK_LENGTHS,
                           .key_mask = view(valid.in, VKF_DTYPE_I32, BATCH, 0, 0, 0)};
}

vkf_layer_norm_desc valid_vkf_layer_norm_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_layer_norm_desc){.x = in(LEN, DIM, 0, 0),
                                 .weight = in(DIM, 0, 0, 0),
                                 .bias = in(DIM, 0, 0, 0),
                                 .residual = in(LEN, DIM, 0, 0),
                                 .out = out(LEN, DIM, 0, 0),
                                 .eps = 1e-5f,
                                 .residual_order = VKF_RESIDUAL_BEFORE};
}

vkf_embed_desc valid_vkf_embed_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_embed_desc){.ids = view(valid.in, VKF_DTYPE_I32, BATCH, LEN, 0, 0),
                            .table = in(8, DIM, 0, 0),
                            .positions = in(8, DIM, 0, 0),
                            .out = out(BATCH, LEN, DIM, 0)};
}

vkf_additive_scores_desc valid_vkf_additive_scores_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_additive_scores_desc){
        .query = in(1, 2, 8, 0), .key = in(1, 3, 8, 0), .v = in(8, 0, 0, 0), .out = out(1, 2, 3, 0)};
}

vkf_measure_fma_desc valid_vkf_measure_fma_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_measure_fma_desc){.out = out(64, 0, 0, 0), .rounds = 1, .chains = VKF_MEASURE_FMA_MIN_CHAINS};
}

static vkf_attention_weights attention_weights(void)
{
    const vkf_tensor weight = in(DIM, DIM, 0, 0), bias = in(DIM, 0, 0, 0);
    return (vkf_attention_weights){.q_weight = weight,
                                   .k_weight = weight,
                                   .v_weight = weight,
                                   .q_bias = bias,
                                   .k_bias = bias,
                                   .v_bias = bias,
                                   .out_weight = weight,
                                   .out_bias = bias};
}

vkf_attention_desc valid_vkf_attention_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    vkf_attention_desc desc = {.embed_dim = DIM,
                               .num_heads = HEADS,
                               .mask = {.kind = VKF_MASK_BOOL_EXCLUDE, .key_kind = VKF_MASK_LENGTHS},
                               .params = attention_weights(),
                               .max_sizes = layer_sizes};
    desc.params.bias_k = desc.params.bias_v = in(1, 1, DIM, 0);
    desc.ports[VKF_PORT_QUERY] = in(BATCH, LEN, DIM, 0);
    return desc;
}

vkf_feed_forward_desc valid_vkf_feed_forward_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    vkf_feed_forward_desc desc = {.d_model = DIM,
                                  .dim_feedforward = HIDDEN,
                                  .params = {.weight1 = in(HIDDEN, DIM, 0, 0),
                                             .bias1 = in(HIDDEN, 0, 0, 0),
                                             .weight2 = in(DIM, HIDDEN, 0, 0),
                                             .bias2 = in(DIM, 0, 0, 0)},
                                  .max_sizes = layer_sizes};
    desc.ports[VKF_PORT_QUERY] = in(BATCH, LEN, DIM, 0);
    return desc;
}

vkf_transformer_layer_desc valid_vkf_transformer_layer_desc(const char *function, const char *parameter)
{
    const vkf_norm_weights norm = {in(DIM, 0, 0, 0), in(DIM, 0, 0, 0)};
    vkf_transformer_layer_desc desc = {.d_model = DIM,
                                       .num_heads = HEADS,
                                       .dim_feedforward = HIDDEN,
                                       .self = attention_weights(),
                                       .feed_forward = valid_vkf_feed_forward_desc(function, parameter).params,
                                       .norm1 = norm,
                                       .norm2 = norm,
                                       .max_sizes = layer_sizes};
    desc.ports[VKF_PORT_QUERY] = in(BATCH, LEN, DIM, 0);
    if (is(function, "decoder")) {
        desc.cross = attention_weights();
        desc.norm3 = norm;
    }
    return desc;
}

vkf_layer_sizes valid_vkf_layer_sizes(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return layer_sizes;
}

static void take_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    (void)text;
}

static void *allocate(void *user, size_t size_bytes)
{
    (void)user;
    return malloc(size_bytes);
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static void take_lock(void *user)
{
    (void)user;
}

// The device of another context, as if it were the caller's own.
static const vkf_external_device *external_device(void)
{
    static vkf_external_device external;
    const vkf_context *context = valid.other;
    external = (vkf_external_device){.instance = context->instance.handle,
                                     .physical_device = context->device.physical,
                                     .device = context->device.handle,
                                     .queue = context->device.queue,
                                     .queue_family_index = context->device.queue_family,
                                     .api_version = VK_API_VERSION_1_1,
                                     .lock_queue = take_lock,
                                     .unlock_queue = take_lock,
                                     .lock_user = &valid};
    return &external;
}

vkf_context_desc valid_vkf_context_desc(const char *function, const char *parameter)
{
    static const char *masks[1];
    (void)parameter;
    masks[0] = "shaderFloat16";
    return (vkf_context_desc){
        .device = {.kind = VKF_CHOOSE_NAME, .name = valid.info.name},
        .profile = valid.gpu->profile,
        .masks = masks,
        .mask_count = 1,
        .message = take_message,
        .message_user = &valid,
        .allocator = {allocate, release, &valid},
        .cache = vkf_blob_store_callbacks(&valid.blobs),
        .variant = "gemm_tile",
        .skip_self_test = true,
        .counters = "all",
        .get_instance_proc_addr = (vkf_get_instance_proc_addr)(vkf_void_function)valid.gpu->context->instance.get_proc,
        .external = is(function, "external") || is(function, "setup") ? external_device() : NULL,
    };
}

static bool go_on(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user;
    (void)done;
    (void)total;
    (void)what;
    return true;
}

vkf_model_desc valid_vkf_model_desc(const char *function, const char *parameter)
{
    (void)parameter;
    return (vkf_model_desc){.directory = valid_directory(function), .progress = go_on, .progress_user = &valid};
}

vkf_device_description_desc valid_vkf_device_description_desc(const char *function, const char *parameter)
{
    static const char text[] =
        "{\"capabilities\": {}, \"profiles\": {\"empty\": {\"api-version\": \"1.3.0\", \"capabilities\": []}}}";
    (void)function;
    (void)parameter;
    return (vkf_device_description_desc){
        .path = VKF_TEST_SOURCE_DIR "/tools/chips/described/m2.json",
        .text = text,
        .text_bytes = sizeof text - 1,
        .message = take_message,
        .message_user = &valid,
        .allocator = {allocate, release, &valid},
    };
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
    static int32_t lengths[1];
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
    (void)function;
    (void)parameter;
    return (vkf_prefill_args){.batch = 1,
                              .ids = valid_memory(),
                              .counts = counts,
                              .out_logits = valid_memory(),
                              .out_all_logits = valid_memory(),
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

vkf_tokenizer_desc valid_vkf_tokenizer_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_tokenizer_desc){
        .message = take_message, .message_user = &valid, .allocator = {allocate, release, &valid}};
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

vkf_tune_problem valid_vkf_tune_problem(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_tune_problem){.m = 1, .n = 32, .k = 32};
}

vkf_tune_options valid_vkf_tune_options(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_tune_options){.time_cap_ns = 1000000, .progress = go_on, .progress_user = &valid};
}

vkf_shader_desc valid_vkf_shader_desc(const char *function, const char *parameter)
{
    enum { UNIFORM_BUFFER = 6, STORAGE_BUFFER = 7 };
    static const vkf_shader_binding bindings[] = {
        {0, 0, UNIFORM_BUFFER, 1}, {0, 1, STORAGE_BUFFER, 1}, {0, 2, STORAGE_BUFFER, 1}};
    static const vkf_shader_constant spec[] = {{0, 4, 64}};
    (void)function;
    (void)parameter;
    return (vkf_shader_desc){.name = "sweep",
                             .constants = "none",
                             .words = valid.words,
                             .word_count = valid.word_count,
                             .entry_point = "main",
                             .bindings = bindings,
                             .binding_count = 3,
                             .push_bytes = 128,
                             .spec = spec,
                             .spec_count = 1};
}

vkf_profiler valid_vkf_profiler(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_profiler){.user = &valid};
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

static bool keep_cache(void *user, const void *bytes, size_t size_bytes)
{
    (void)user;
    memcpy(valid.cache + valid.cache_bytes, bytes, size_bytes);
    valid.cache_bytes += size_bytes;
    return true;
}

bool valid_vkf_progress_fn(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user;
    (void)what;
    return done > total;
}

void valid_vkf_kernel_fn(void *user, const char *kernel, bool usable, const char *why)
{
    (void)user;
    (void)kernel;
    (void)usable;
    (void)why;
}

void valid_vkf_planned_dispatch_fn(void *user, const vkf_planned_dispatch *dispatch)
{
    (void)user;
    (void)dispatch;
}

bool valid_vkf_kernel_report_fn(void *user, const vkf_kernel_report *report)
{
    (void)user;
    return report->kernel != NULL;
}

bool valid_vkf_probe_fn(void *user, const vkf_probe_output *output)
{
    (void)user;
    return output->count > 0;
}

void valid_vkf_choice_fn(void *user, const vkf_choice *choice)
{
    (void)user;
    (void)choice;
}

vkf_context *valid_vkf_context(const char *function)
{
    return is(function, "vkf_buffer_import") || is(function, "exportable") ? valid.sharing : valid.gpu->context;
}

vkf_layer *valid_vkf_layer(const char *function)
{
    (void)function;
    return valid.layer;
}

vkf_model *valid_vkf_model(const char *function)
{
    (void)function;
    return valid.decoder;
}

vkf_session *valid_vkf_session(const char *function)
{
    if (is(function, "transformer"))
        return valid.transformer.session;
    if (is(function, "vkf_session_encode") || is(function, "vkf_session_submit_encode") ||
        is(function, "vkf_session_record_encode") || is(function, "vkf_session_prepare_encode"))
        return valid.encoder_session;
    // Its row is emptied, so that there is room however often it is called with. (A child of fork() may not.)
    if (is(function, "vkf_session_prefill") || is(function, "vkf_session_step") ||
        is(function, "vkf_session_submit_step") || is(function, "vkf_session_record_step") ||
        is(function, "vkf_session_prepare_step") || is(function, "vkf_session_truncate") ||
        is(function, "vkf_session_save") || is(function, "vkf_session_load")) {
        const vkf_status emptied = vkf_session_truncate(valid.token_session, 0, 0);
        (void)emptied;
        return valid.token_session;
    }
    return is(function, "vkf_session_greedy") ? valid.seq2seq_session : valid.decoder_session;
}

vkf_generator *valid_vkf_generator(const char *function)
{
    (void)function;
    return valid.generator;
}

vkf_embedder *valid_vkf_embedder(const char *function)
{
    (void)function;
    return valid.embedder;
}

vkf_tokenizer *valid_vkf_tokenizer(const char *function)
{
    (void)function;
    return valid.tokenizer;
}

vkf_vocabulary *valid_vkf_vocabulary(const char *function)
{
    (void)function;
    return valid.vocabulary;
}

vkf_buffer *valid_vkf_buffer(const char *function)
{
    return is(function, "vkf_buffer_export") ? valid.exportable : valid.in;
}

vkf_wrapped_buffer_desc valid_vkf_wrapped_buffer_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_wrapped_buffer_desc){
        .buffer = valid.in->handle, .size_bytes = 256, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
}

vkf_session_submit_desc valid_vkf_session_submit_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_session_submit_desc){0};
}

vkf_layer_submit_desc valid_vkf_layer_submit_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_layer_submit_desc){.sizes = layer_sizes};
}

// Of the host's memory, for the context that has external memory.
vkf_imported_memory valid_vkf_imported_memory(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_imported_memory){.kind = VKF_MEMORY_HOST_POINTER,
                                 .fd = -1,
                                 .pointer = valid.pages,
                                 .buffer_bytes = 256,
                                 .memory_bytes = MEMORY_BYTES};
}

// A setup is for a device that is still to be made.
vkf_device_setup *valid_vkf_device_setup(const char *function)
{
    (void)function;
    return valid.setup;
}

VkCommandBuffer valid_VkCommandBuffer(void)
{
    vkf__device *device = &valid.gpu->context->device;
    const VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = valid.pool, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    assert_int_equal(device->vk.vkAllocateCommandBuffers(device->handle, &info, &commands), VK_SUCCESS);
    assert_int_equal(device->vk.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
    return commands;
}

static void make_sessions(void)
{
    const vkf_session_desc decoder = valid_vkf_session_desc("", "");
    const vkf_session_desc tokens = {.max_batch = 1, .max_target_len = 4, .max_logit_rows = 2};
    const vkf_session_desc encoder = {.max_batch = 1, .max_source_len = 4};
    const vkf_session_desc seq2seq = {.max_batch = 1, .max_source_len = 4, .max_target_len = 4};
    const vkf_session_desc masks = {.max_batch = 1,
                                    .max_source_len = 2,
                                    .max_target_len = 2,
                                    .source_mask = masked,
                                    .target_mask = masked,
                                    .memory_mask = masked};
    const vkf_model_desc demo = {.directory = VKF_TEST_SOURCE_DIR "/tools/demo-model"};
    vkf_context *context = valid.gpu->context;
    valid.decoder = vkf_test_load_pretrained(valid.gpu, vkf_test_pretrained("llama"), VKF_MODEL_PRECISION_F32);
    valid.encoder = vkf_test_load_pretrained(valid.gpu, vkf_test_pretrained("bert"), VKF_MODEL_PRECISION_F32);
    assert_int_equal(vkf_model_load(context, &demo, &valid.seq2seq), VKF_OK);
    assert_int_equal(vkf_session_create(valid.decoder, &decoder, &valid.decoder_session), VKF_OK);
    assert_int_equal(vkf_session_create(valid.decoder, &tokens, &valid.token_session), VKF_OK);
    assert_int_equal(vkf_session_create(valid.encoder, &encoder, &valid.encoder_session), VKF_OK);
    assert_int_equal(vkf_session_create(valid.seq2seq, &seq2seq, &valid.seq2seq_session), VKF_OK);
    assert_int_equal(vkf_session_save(valid.token_session, valid_cache_path()), VKF_OK);
    assert_int_equal(vkf_session_save_to(valid.token_session, keep_cache, NULL), VKF_OK);
    vkf_test_rig_make(valid.gpu, &transformer, VKF_DTYPE_F32, &masks, &valid.transformer);
    const vkf_decode_args run = valid_vkf_decode_args("", "");
    assert_int_equal(vkf_session_decode(valid.decoder_session, &run), VKF_OK);
    const vkf_encode_args encode = valid_vkf_encode_args("transformer", "");
    assert_int_equal(vkf_session_encode(valid.transformer.session, &encode), VKF_OK);
}

static void make_texts(void)
{
    const vkf_generator_desc generator = valid_vkf_generator_desc("vkf_generator", "");
    const vkf_embedder_desc embedder = valid_vkf_embedder_desc("vkf_embedder", "");
    vkf_context *context = valid.gpu->context;
    assert_int_equal(vkf_generator_create(context, &generator, &valid.generator), VKF_OK);
    assert_int_equal(vkf_embedder_create(context, &embedder, &valid.embedder), VKF_OK);
    assert_int_equal(vkf_tokenizer_load(NULL, valid_directory("vkf_tokenizer"), &valid.tokenizer), VKF_OK);
    assert_int_equal(vkf_vocabulary_load(context, valid_directory("vkf_vocabulary"), &valid.vocabulary), VKF_OK);
}

static void make_vulkan(void)
{
    vkf__device *device = &valid.gpu->context->device;
    const vkf__shader *shader = vkf__shader_find("copy.f32_f32");
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = device->queue_family};
    assert_int_equal(device->vk.vkCreateCommandPool(device->handle, &pool, NULL, &valid.pool), VK_SUCCESS);
    valid.words = embedded_words(shader);
    valid.word_count = shader->word_count;
    assert_non_null(valid.words);
}

static void hear_sharing(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    if (severity == VKF_SEVERITY_ERROR)
        (void)snprintf(valid.gpu->last_error, sizeof valid.gpu->last_error, "%s", text);
}

// A context that shares memory, which the profile of the others may forbid.
static void make_sharing(void)
{
    const vkf_context_desc desc = {.skip_self_test = true, .external_memory = true, .message = hear_sharing};
    assert_int_equal(vkf_context_create(&desc, &valid.sharing), VKF_OK);
    assert_int_equal(
        vkf_buffer_create_exportable(valid.sharing, VKF_MEMORY_OPAQUE_FD, 256, "exportable", &valid.exportable),
        VKF_OK);
    valid.pages = aligned_alloc(MEMORY_BYTES, MEMORY_BYTES);
    assert_non_null(valid.pages);
}

void valid_make(vkf_test_gpu *gpu)
{
    const vkf_context_desc other = {.profile = gpu->profile, .skip_self_test = true};
    valid = (valid_arguments){.gpu = gpu, .shape = {4, 4, 4, 4}};
    vkf_context_device_info(gpu->context, &valid.info);
    assert_int_equal(vkf_context_create(&other, &valid.other), VKF_OK);
    assert_int_equal(vkf_buffer_create(gpu->context, MEMORY_BYTES, "in", &valid.in), VKF_OK);
    assert_int_equal(vkf_buffer_create(gpu->context, MEMORY_BYTES, "out", &valid.out), VKF_OK);
    assert_int_equal(vkf_buffer_create(valid.other, MEMORY_BYTES, "foreign", &valid.foreign), VKF_OK);
    const vkf_transformer_layer_desc layer = valid_vkf_transformer_layer_desc("encoder", "");
    assert_int_equal(vkf_encoder_layer_create(gpu->context, &layer, &valid.layer), VKF_OK);
    assert_int_equal(vkf_layer_run(valid.layer, &layer_sizes), VKF_OK);
    make_vulkan();
    make_sharing();
    const vkf_context_desc setup = valid_vkf_context_desc("setup", "");
    assert_int_equal(vkf_device_setup_create(&setup, &valid.setup), VKF_OK);
    make_sessions();
    make_texts();
}

void valid_free(void)
{
    vkf__device *device = &valid.gpu->context->device;
    assert_int_equal(vkf_context_set_probe(valid.gpu->context, NULL, NULL), VKF_OK);
    assert_int_equal(vkf_context_set_profiler(valid.gpu->context, NULL), VKF_OK);
    device->vk.vkDestroyCommandPool(device->handle, valid.pool, NULL);
    free(valid.words);
    vkf_buffer_destroy(&valid.exportable);
    vkf_context_destroy(&valid.sharing);
    free(valid.pages);
    vkf_device_setup_destroy(&valid.setup);
    vkf_continuation_free(&valid.continuation);
    vkf_blob_store_clear(&valid.blobs);
    vkf_vocabulary_destroy(&valid.vocabulary);
    vkf_tokenizer_destroy(&valid.tokenizer);
    vkf_embedder_destroy(&valid.embedder);
    vkf_generator_destroy(&valid.generator);
    vkf_test_rig_free(&valid.transformer);
    vkf_session_destroy(&valid.seq2seq_session);
    vkf_session_destroy(&valid.encoder_session);
    vkf_session_destroy(&valid.decoder_session);
    vkf_session_destroy(&valid.token_session);
    vkf_model_destroy(&valid.seq2seq);
    vkf_model_destroy(&valid.encoder);
    vkf_model_destroy(&valid.decoder);
    vkf_layer_destroy(&valid.layer);
    vkf_buffer_destroy(&valid.foreign);
    vkf_buffer_destroy(&valid.out);
    vkf_buffer_destroy(&valid.in);
    vkf_context_destroy(&valid.other);
}
