// The objects that the sweep calls functions with: made, freed, and chosen for each function.
#include <stdio.h>

#include "embedded_words.h"
#include "pretrained.h"
#include "valid_parts.h"

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

static bool keep_cache(void *user, const void *bytes, size_t size_bytes)
{
    (void)user;
    memcpy(valid.cache + valid.cache_bytes, bytes, size_bytes);
    valid.cache_bytes += size_bytes;
    return true;
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
    return is(function, "vkf_trainer") ? valid.trainable : valid.decoder;
}

vkf_session *valid_vkf_session(const char *function)
{
    if (is(function, "transformer"))
        return valid.transformer.session;
    if (is(function, "vkf_session_encode") || is(function, "vkf_session_submit_encode") ||
        is(function, "vkf_session_record_encode") || is(function, "vkf_session_prepare_encode"))
        return valid.encoder_session;
    // Its row is emptied, so that there is room however often it is called with. (A child of fork() may not.)
    if (is(function, "vkf_generation_submit") || is(function, "vkf_session_prefill") ||
        is(function, "vkf_session_step") || is(function, "vkf_session_submit_step") ||
        is(function, "vkf_session_submit_prefill") || is(function, "vkf_session_record_step") ||
        is(function, "vkf_session_prepare_step") || is(function, "vkf_session_truncate") ||
        is(function, "vkf_session_save") || is(function, "vkf_session_restore")) {
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

// Begun anew, so that it has a turn left. (A child of fork() may not.)
vkf_generation *valid_vkf_generation(const char *function)
{
    const vkf_generate_args args = valid_vkf_generate_args(function, "args");
    if (vkf__context_is_inherited(valid.gpu->context))
        return valid.generation;
    vkf_generation_destroy(&valid.generation);
    assert_int_equal(vkf_generation_begin(valid.turn_session, &args, &valid.generation), VKF_OK);
    return valid.generation;
}

vkf_inspection *valid_vkf_inspection(const char *function)
{
    (void)function;
    return valid.inspection;
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
    assert_int_equal(vkf_session_create(valid.decoder, &decoder, &valid.turn_session), VKF_OK);
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
    assert_int_equal(vkf_generator_load(context, &generator, &valid.generator), VKF_OK);
    assert_int_equal(vkf_embedder_load(context, &embedder, &valid.embedder), VKF_OK);
    assert_int_equal(
        vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = valid_directory("vkf_tokenizer")}, &valid.tokenizer), VKF_OK);
    assert_int_equal(vkf_vocabulary_load(context, valid_directory("vkf_vocabulary"), &valid.vocabulary), VKF_OK);
    const vkf_inspection_desc inspection = valid_vkf_inspection_desc("vkf_embedder", "");
    assert_int_equal(vkf_inspection_load(&inspection, &valid.inspection), VKF_OK);
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
    vkf_context_get_device_info(gpu->context, &valid.info);
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
    (void)valid_vkf_generation("");
    valid_make_trainer();
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
    valid_free_trainer();
    vkf_vocabulary_destroy(&valid.vocabulary);
    vkf_tokenizer_destroy(&valid.tokenizer);
    vkf_embedder_destroy(&valid.embedder);
    vkf_generator_destroy(&valid.generator);
    vkf_test_rig_free(&valid.transformer);
    vkf_session_destroy(&valid.seq2seq_session);
    vkf_session_destroy(&valid.encoder_session);
    vkf_session_destroy(&valid.decoder_session);
    vkf_session_destroy(&valid.token_session);
    vkf_generation_destroy(&valid.generation);
    vkf_session_destroy(&valid.turn_session);
    vkf_inspection_destroy(&valid.inspection);
    vkf_model_destroy(&valid.seq2seq);
    vkf_model_destroy(&valid.encoder);
    vkf_model_destroy(&valid.decoder);
    vkf_layer_destroy(&valid.layer);
    vkf_buffer_destroy(&valid.foreign);
    vkf_buffer_destroy(&valid.out);
    vkf_buffer_destroy(&valid.in);
    vkf_context_destroy(&valid.other);
}
