// Writes the files of a model whose weights are drawn at random.
#include "train/new_model.h"

#include <math.h>
#include <stdlib.h>

#include "io/file.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "io/safetensors.h"
#include "io/token_table.h"

#define NAME_BYTES 96
#define LAYER_TENSORS 18 // of a layer of the decoder, which has more than one of the encoder
#define OTHER_TENSORS 8
#define MAX_VOCABULARY_BYTES ((size_t)64 << 20)

typedef enum drawn { DRAWN_ZERO = 0, DRAWN_ONE, DRAWN_XAVIER, DRAWN_NORMAL, DRAWN_UNIFORM } drawn;

typedef struct new_tensor {
    char name[NAME_BYTES];
    drawn how;
    double bound; // of NORMAL the deviation
} new_tensor;

typedef struct new_model {
    const vkf__host *host;
    const vkf_train_config *config;
    uint32_t source_vocab, target_vocab;
    new_tensor *made;            // (count)
    vkf__stored_tensor *tensors; // (count)
    size_t count;
} new_model;

// ---- what there is

static void add(new_model *m, const char *prefix, const char *name, uint64_t rows, uint64_t columns, drawn how,
                double bound)
{
    new_tensor *made = &m->made[m->count];
    vkf__stored_tensor *tensor = &m->tensors[m->count++];
    (void)snprintf(made->name, sizeof made->name, "%s%s", prefix, name);
    made->how = how;
    made->bound = bound;
    const bool vector = rows == 0;
    *tensor = (vkf__stored_tensor){
        .name = made->name,
        .type = VKF_STORED_F32,
        .rank = vector ? 1 : 2,
        .shape = {vector ? columns : rows, vector ? 0 : columns},
        .count = (vector ? 1 : rows) * columns,
        .size_bytes = (vector ? 1 : rows) * columns * sizeof(float),
    };
}

static void add_matrix(new_model *m, const char *prefix, const char *name, uint64_t rows, uint64_t columns)
{
    add(m, prefix, name, rows, columns, DRAWN_XAVIER, sqrt(6.0 / (double)(rows + columns)));
}

static void add_attention(new_model *m, const char *layer, const char *name)
{
    const uint64_t d = m->config->d_model;
    char prefix[NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "%s%s.", layer, name);
    add_matrix(m, prefix, "in_proj_weight", 3 * d, d);
    add(m, prefix, "in_proj_bias", 0, 3 * d, DRAWN_ZERO, 0);
    add_matrix(m, prefix, "out_proj.weight", d, d);
    add(m, prefix, "out_proj.bias", 0, d, DRAWN_ZERO, 0);
}

static void add_norm(new_model *m, const char *prefix, const char *weight, const char *bias)
{
    const uint64_t d = m->config->d_model;
    add(m, prefix, weight, 0, d, DRAWN_ONE, 0);
    add(m, prefix, bias, 0, d, DRAWN_ZERO, 0);
}

static void add_layer(new_model *m, bool decoder, uint32_t index)
{
    const uint64_t d = m->config->d_model, hidden = m->config->dim_feedforward;
    char prefix[NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "transformer.%s.layers.%u.", decoder ? "decoder" : "encoder", index);
    add_attention(m, prefix, "self_attn");
    if (decoder)
        add_attention(m, prefix, "multihead_attn");
    add_matrix(m, prefix, "linear1.weight", hidden, d);
    add(m, prefix, "linear1.bias", 0, hidden, DRAWN_UNIFORM, 1 / sqrt((double)d));
    add_matrix(m, prefix, "linear2.weight", d, hidden);
    add(m, prefix, "linear2.bias", 0, d, DRAWN_UNIFORM, 1 / sqrt((double)hidden));
    add_norm(m, prefix, "norm1.weight", "norm1.bias");
    add_norm(m, prefix, "norm2.weight", "norm2.bias");
    if (decoder)
        add_norm(m, prefix, "norm3.weight", "norm3.bias");
}

static vkf_status list_tensors(new_model *m)
{
    const vkf_train_config *config = m->config;
    const uint64_t d = config->d_model;
    const size_t layers = (size_t)config->num_encoder_layers + config->num_decoder_layers;
    const double deviation = 1 / sqrt((double)d);
    VKF_ALLOC_OR_RETURN(m->host, m->made, layers * LAYER_TENSORS + OTHER_TENSORS);
    VKF_ALLOC_OR_RETURN(m->host, m->tensors, layers * LAYER_TENSORS + OTHER_TENSORS);
    add(m, "", "src_embed.weight", m->source_vocab, d, DRAWN_NORMAL, deviation);
    if (!config->share_embed)
        add(m, "", "tgt_embed.weight", m->target_vocab, d, DRAWN_NORMAL, deviation);
    for (uint32_t i = 0; i < config->num_encoder_layers; i++)
        add_layer(m, false, i);
    add_norm(m, "transformer.encoder.", "norm.weight", "norm.bias");
    for (uint32_t i = 0; i < config->num_decoder_layers; i++)
        add_layer(m, true, i);
    add_norm(m, "transformer.decoder.", "norm.weight", "norm.bias");
    if (!config->tie_proj)
        add_matrix(m, "", "generator.weight", m->target_vocab, d);
    add(m, "", "generator.bias", 0, m->target_vocab, DRAWN_ZERO, 0);
    return VKF_OK;
}

// ---- what it begins as

// splitmix64 (Steele, Lea and Flood 2014): the same numbers everywhere.
static uint64_t next_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Above 0, up to 1.
static double next_share(uint64_t *state)
{
    return (double)((next_bits(state) >> 11) + 1) * 0x1p-53;
}

static float draw(drawn how, double bound, uint64_t *state)
{
    const double pi = 3.14159265358979323846;
    switch (how) {
    case DRAWN_ZERO:
        return 0;
    case DRAWN_ONE:
        return 1;
    case DRAWN_NORMAL: { // Box and Muller 1958
        const double length = sqrt(-2 * log(next_share(state)));
        return (float)(bound * length * cos(2 * pi * next_share(state)));
    }
    case DRAWN_XAVIER:
    case DRAWN_UNIFORM:
        break;
    }
    return (float)(bound * (2 * next_share(state) - 1));
}

// A vkf__tensor_write_fn. Each tensor has numbers of its own, so that the order of the file changes nothing.
static vkf_status write_tensor(void *user, size_t index, vkf__new_file *file)
{
    const new_model *m = user;
    const new_tensor *made = &m->made[index];
    uint64_t state = m->config->seed;
    float row[256];
    state = next_bits(&state) + index;
    state = next_bits(&state);
    for (uint64_t left = m->tensors[index].count; left > 0;) {
        const size_t count = left < sizeof row / sizeof *row ? (size_t)left : sizeof row / sizeof *row;
        for (size_t i = 0; i < count; i++)
            row[i] = draw(made->how, made->bound, &state);
        VKF_RETURN_IF_ERROR(vkf__new_file_write(file, row, count * sizeof *row));
        left -= count;
    }
    return VKF_OK;
}

// ---- files

static vkf_status write_config(const new_model *m, const char *path)
{
    const vkf_train_config *c = m->config;
    json_t *root = json_pack(
        "{s:s, s:I, s:I, s:I, s:s, s:b, s:f, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:i, s:i, s:i, s:i, s:I, s:I}",
        "model_type", "vkformer-seq2seq", "d_model", (json_int_t)c->d_model, "nhead", (json_int_t)c->nhead,
        "dim_feedforward", (json_int_t)c->dim_feedforward, "activation",
        c->activation == VKF_TRAIN_GELU ? "gelu" : "relu", "norm_first", c->norm_first, "layer_norm_eps", 1e-5,
        "num_encoder_layers", (json_int_t)c->num_encoder_layers, "num_decoder_layers",
        (json_int_t)c->num_decoder_layers, "src_vocab", (json_int_t)m->source_vocab, "tgt_vocab",
        (json_int_t)m->target_vocab, "share_embed", c->share_embed, "tie_proj", c->tie_proj, "proj_bias", 1, "pad_id",
        VKF_TOKEN_PAD, "bos_id", VKF_TOKEN_BOS, "eos_id", VKF_TOKEN_EOS, "unk_id", VKF_TOKEN_UNK, "max_len",
        (json_int_t)c->max_len, "max_source_len", (json_int_t)c->max_source_len);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    vkf_status status = text ? vkf__file_write(m->host, path, text, strlen(text))
                             : vkf__no_memory(m->host, __func__, 1, 1);
    free(text); // jansson's own
    json_decref(root);
    return status;
}

static vkf_status take_vocabularies(new_model *m, const char *path)
{
    vkf__token_tables tables = {0};
    if (!vkf__file_exists(path))
        return vkf__fail(m->host, VKF_ERROR_FILE,
                         "%s is not there: a new model takes its source and target tokens from a vocabulary.json in "
                         "the directory of 'tokenizer' (--tokenizer)",
                         path);
    VKF_RETURN_IF_ERROR(vkf__token_tables_load(m->host, path, &tables));
    m->source_vocab = vkf__token_table_count(tables.source);
    m->target_vocab = vkf__token_table_count(tables.target);
    vkf__token_tables_free(&tables);
    if (m->config->share_embed && m->source_vocab != m->target_vocab)
        return vkf__fail(m->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s has %u source and %u target tokens, which cannot share an embedding: leave out "
                         "'new_model.share_embed' (--share-embed)",
                         path, m->source_vocab, m->target_vocab);
    return VKF_OK;
}

static vkf_status copy_file(const vkf__host *host, const char *from, const char *to)
{
    vkf__file_bytes bytes = {0};
    VKF_RETURN_IF_ERROR(vkf__file_read(host, from, MAX_VOCABULARY_BYTES, &bytes));
    const vkf_status status = vkf__file_write(host, to, bytes.data, bytes.size_bytes);
    vkf__file_bytes_free(host, &bytes);
    return status;
}

static vkf_status write_files(new_model *m, const char *vocabulary, const char *directory)
{
    static const char *const names[] = {"vocabulary.json", "model.safetensors", "config.json"};
    char *paths[3] = {0};
    vkf_status status = VKF_OK;
    for (int i = 0; i < 3; i++)
        VKF_TRY(vkf__path_join(m->host, directory, names[i], &paths[i]));
    VKF_TRY(copy_file(m->host, vocabulary, paths[0]));
    VKF_TRY(vkf__safetensors_write_made(m->host, paths[1], m->tensors, m->count, NULL, write_tensor, m));
    VKF_TRY(write_config(m, paths[2]));
fail:
    for (int i = 0; i < 3; i++)
        vkf__free(m->host, paths[i]);
    return status;
}

vkf_status vkf_new_model_write(const vkf__host *host, const vkf_train_config *config, const char *path)
{
    vkf_status status = VKF_OK;
    new_model m = {.host = host, .config = config};
    vkf__new_directory out = {0};
    char *vocabulary = NULL;
    VKF_TRY(vkf__path_join(host, config->tokenizer, "vocabulary.json", &vocabulary));
    VKF_TRY(take_vocabularies(&m, vocabulary));
    VKF_TRY(list_tensors(&m));
    VKF_TRY(vkf__new_directory_open(host, path, &out));
    VKF_TRY(write_files(&m, vocabulary, out.temporary));
    VKF_TRY(vkf__new_directory_commit(&out));
fail:
    vkf__new_directory_discard(&out);
    vkf__free(host, vocabulary);
    vkf__free(host, m.made);
    vkf__free(host, m.tensors);
    return status;
}
