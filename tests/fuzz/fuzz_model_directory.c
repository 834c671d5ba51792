// The JSON files of a model directory: config.json of every family, modules.json and what it names, and the index of a
// checkpoint. The input stands for each of them in turn.
#define _DEFAULT_SOURCE

#include <string.h>

#include "../unit/recording_host.h"
#include "../unit/scratch_directory.h"
#include "fuzz.h"
#include "io/checkpoint.h"
#include "model/family.h"
#include "model/pooling.h"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{}"),
    FUZZ_TEXT("[]"),
    FUZZ_TEXT(
        "{\"model_type\": \"bert\", \"hidden_size\": 384, \"num_attention_heads\": 12, \"intermediate_size\": 1536, "
        "\"num_hidden_layers\": 6, \"hidden_act\": \"gelu\", \"layer_norm_eps\": 1e-12, \"vocab_size\": 30522, "
        "\"max_position_embeddings\": 512, \"type_vocab_size\": 2, \"pad_token_id\": 0, "
        "\"position_embedding_type\": \"absolute\"}"),
    FUZZ_TEXT(
        "{\"model_type\": \"roberta\", \"hidden_size\": 40, \"num_attention_heads\": 5, \"intermediate_size\": 33, "
        "\"num_hidden_layers\": 1, \"hidden_act\": \"gelu_new\", \"layer_norm_eps\": 1e-05, \"vocab_size\": 101, "
        "\"max_position_embeddings\": 50, \"type_vocab_size\": 1, \"pad_token_id\": 1}"),
    FUZZ_TEXT(
        "{\"model_type\": \"distilbert\", \"dim\": 30, \"n_heads\": 3, \"hidden_dim\": 41, \"n_layers\": 2, "
        "\"activation\": \"relu\", \"vocab_size\": 101, \"max_position_embeddings\": 48, \"pad_token_id\": null}"),
    FUZZ_TEXT("{\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": false, \"max_seq_length\": 256}"),
    FUZZ_TEXT("[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}, "
              "{\"path\": \"\", \"type\": \"sentence_transformers.models.Pooling\"}, "
              "{\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]"),
    FUZZ_TEXT("{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"modules.json\", \"c\": \"../1.safetensors\"}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static scratch_directory *scratch;

static void remove_scratch(void)
{
    void *state = scratch;
    (void)scratch_teardown(&state);
}

static void make_scratch(void)
{
    static const uint8_t tensors[] =
        "\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}   "
        "       \0\0\0\0";
    void *state = NULL;
    if (scratch)
        return;
    FUZZ_CHECK(scratch_setup(&state) == 0);
    scratch = state;
    atexit(remove_scratch);
    scratch_write(scratch, "1.safetensors", tensors, sizeof tensors - 1);
}

static void read_config(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf_model_config config = {0};
    const vkf__family *family = NULL;
    recording_host_init(&recording);
    vkf_status status =
        vkf__config_load(&recording.host, scratch_write(scratch, "config.json", data, size_bytes), &config, &family);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED);
    if (status == VKF_OK && family) {
        vkf__weights weights = {0};
        FUZZ_CHECK(config.max_source_len > 0 && config.d_model % config.num_heads == 0);
        FUZZ_CHECK(vkf__family_slots(family, "", &config, &weights, NULL) > config.num_encoder_layers);
    }
    FUZZ_CHECK(recording.live == 0);
}

static void read_pooling(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf_model_config config = {.max_source_len = 512};
    recording_host_init(&recording);
    scratch_write(scratch, "modules.json", data, size_bytes);
    scratch_write(scratch, "sentence_bert_config.json", data, size_bytes);
    vkf_status status = vkf__pooling_load(&recording.host, scratch->path, &config);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(config.pooling < VKF_POOLING_COUNT && config.truncate_len <= 512);
    FUZZ_CHECK(recording.live == 0);
}

static void read_index(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf__checkpoint *checkpoint = NULL;
    recording_host_init(&recording);
    scratch_write(scratch, "model.safetensors.index.json", data, size_bytes);
    vkf_status status = vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK((status == VKF_OK) == (checkpoint != NULL));
    FUZZ_CHECK(!checkpoint || vkf__checkpoint_find(checkpoint, "a"));
    vkf__checkpoint_close(&checkpoint);
    FUZZ_CHECK(recording.live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    make_scratch();
    read_config(data, size_bytes);
    read_pooling(data, size_bytes);
    read_index(data, size_bytes);
    return 0;
}
