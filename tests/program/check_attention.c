// check_attention MODEL TEXT: generates from TEXT by a model of this project's own, and prints the weights of attention
// that its session has gathered over the steps: {"encoder": [layer][head][query][key], "decoder": ..., "cross": ...}.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vkformer/vkformer.h>

#define MAX_TOKENS 64u

typedef struct run {
    vkf_context *context;
    vkf_model *model;
    vkf_vocabulary *vocabulary;
    vkf_session *session;
    vkf_model_config config;
    uint32_t source_len, positions;
} run;

static vkf_status generate(run *r, const char *directory, const char *text)
{
    const vkf_context_desc context_desc = {0};
    const vkf_model_desc model_desc = {.directory = directory};
    const vkf_session_desc desc = {
        .max_batch = 1,
        .max_source_len = MAX_TOKENS,
        .max_target_len = MAX_TOKENS,
        .attention_weights = VKF_ATTENTION_CROSS | VKF_ATTENTION_ENCODER | VKF_ATTENTION_DECODER,
    };
    int32_t source[MAX_TOKENS], target[MAX_TOKENS];
    uint32_t length = 0;
    r->source_len = MAX_TOKENS;
    vkf_status status = vkf_context_create(&context_desc, &r->context);
    if (status == VKF_OK)
        status = vkf_model_load(r->context, &model_desc, &r->model);
    if (status == VKF_OK)
        status = vkf_vocabulary_load(r->context, directory, &r->vocabulary);
    if (status == VKF_OK)
        status = vkf_session_create(r->model, &desc, &r->session);
    if (status == VKF_OK)
        status = vkf_vocabulary_encode(r->vocabulary, text, strlen(text), &r->source_len, source);
    vkf_greedy_args args = {.batch = 1, .source_ids = source, .out_ids = target, .out_lengths = &length};
    if (status != VKF_OK)
        return status;
    vkf_model_get_config(r->model, &r->config);
    args.source_len = r->source_len;
    status = vkf_session_greedy(r->session, &args);
    r->positions = length - 1;
    return status;
}

static json_t *list_of(const float **values, const uint32_t *shape, int rank)
{
    json_t *list = json_array();
    if (rank == 0) {
        json_decref(list);
        return json_real((double)*(*values)++);
    }
    for (uint32_t i = 0; i < shape[0]; i++)
        json_array_append_new(list, list_of(values, shape + 1, rank - 1));
    return list;
}

static vkf_status describe(const run *r, vkf_attention_kind kind, json_t *out_layers)
{
    static float weights[MAX_TOKENS * MAX_TOKENS * MAX_TOKENS];
    bool encoder = kind == VKF_ATTENTION_ENCODER;
    uint32_t layers = encoder ? r->config.num_encoder_layers : r->config.num_decoder_layers;
    const uint32_t shape[] = {r->config.num_heads, encoder ? r->source_len : r->positions,
                              kind == VKF_ATTENTION_DECODER ? r->positions : r->source_len};
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < layers && status == VKF_OK; i++) {
        const float *values = weights;
        status = vkf_session_get_attention(r->session, kind, i, 0, shape[1], weights);
        if (status == VKF_OK)
            json_array_append_new(out_layers, list_of(&values, shape, 3));
    }
    return status;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"cross", "encoder", "decoder"};
    run r = {0};
    json_t *all = json_object();
    if (argc != 3) {
        fputs("usage: check_attention MODEL TEXT\n", stderr);
        return 2;
    }
    vkf_status status = generate(&r, argv[1], argv[2]);
    for (int i = 0; i < 3 && status == VKF_OK; i++) {
        json_t *layers = json_array();
        json_object_set_new(all, names[i], layers);
        status = describe(&r, (vkf_attention_kind)(1u << i), layers);
    }
    if (status == VKF_OK)
        json_dumpf(all, stdout, JSON_REAL_PRECISION(9));
    else
        fprintf(stderr, "check_attention: %s\n", vkf_status_text(status));
    json_decref(all);
    vkf_session_destroy(&r.session);
    vkf_vocabulary_destroy(&r.vocabulary);
    vkf_model_destroy(&r.model);
    vkf_context_destroy(&r.context);
    return status != VKF_OK;
}
