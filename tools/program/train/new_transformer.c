// Files of a new torch.nn.Transformer, whose tokens are those of a vocabulary.json.
#include "io/path.h"
#include "io/token_table.h"
#include "train/new_files.h"
#include "train/train_json.h"

#define VOCABULARY "vocabulary.json"

typedef struct vocab_sizes {
    uint32_t source, target;
} vocab_sizes;

static json_t *config_of(const vkf_train_config *c, const vocab_sizes *vocab)
{
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:s, s:b, s:f, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:i, s:i, s:i, s:i, s:I, s:I}",
        "model_type", "vkformer-seq2seq", "d_model", (json_int_t)c->d_model, "nhead", (json_int_t)c->nhead,
        "dim_feedforward", (json_int_t)c->dim_feedforward, "activation",
        c->activation == VKF_TRAIN_GELU ? "gelu" : "relu", "norm_first", c->norm_first, "layer_norm_eps", 1e-5,
        "num_encoder_layers", (json_int_t)c->num_encoder_layers, "num_decoder_layers",
        (json_int_t)c->num_decoder_layers, "src_vocab", (json_int_t)vocab->source, "tgt_vocab",
        (json_int_t)vocab->target, "share_embed", c->share_embed, "tie_proj", c->tie_proj, "proj_bias", 1, "pad_id",
        VKF_TOKEN_PAD, "bos_id", VKF_TOKEN_BOS, "eos_id", VKF_TOKEN_EOS, "unk_id", VKF_TOKEN_UNK, "max_len",
        (json_int_t)c->max_len, "max_source_len", (json_int_t)c->max_source_len);
}

static vkf_status count_tokens(const vkf__host *host, const vkf_train_config *config, const char *directory,
                               vocab_sizes *out_vocab)
{
    char *path = NULL;
    vkf__token_tables tables = {0};
    VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, VOCABULARY, &path));
    const vkf_status status = vkf__token_tables_load(host, path, &tables);
    vkf__free(host, path);
    VKF_RETURN_IF_ERROR(status);
    *out_vocab = (vocab_sizes){vkf__token_table_count(tables.source), vkf__token_table_count(tables.target)};
    vkf__token_tables_free(&tables);
    if (config->share_embed && out_vocab->source != out_vocab->target)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s/" VOCABULARY " has %u source and %u target tokens, which cannot share an embedding: leave "
                         "out 'new_model.share_embed' (--share-embed)",
                         config->tokenizer, out_vocab->source, out_vocab->target);
    return VKF_OK;
}

vkf_status vkf_new_transformer_files(const vkf__host *host, const vkf_train_config *config, const char *directory)
{
    bool there = false;
    vocab_sizes vocab;
    VKF_RETURN_IF_ERROR(vkf_new_file_copy(host, config->tokenizer, VOCABULARY, directory, &there));
    if (!there)
        return vkf__fail(host, VKF_ERROR_FILE,
                         "%s/" VOCABULARY " is not there: a new model takes its source and target tokens from it, "
                         "unless 'new_model.type' (--model-type) says a family, whose tokens are those of a "
                         "tokenizer.json",
                         config->tokenizer);
    VKF_RETURN_IF_ERROR(count_tokens(host, config, directory, &vocab));
    return vkf_train_json_write(host, config_of(config, &vocab), directory, "config.json");
}
