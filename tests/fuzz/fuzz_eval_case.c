// Cases of `vkformer eval`, which run on a device. An input is a case's config.json, whose weights and inputs are those
// of the stored case of the same kind; behind a byte 1 come changes to them: which file (one byte), where (two bytes),
// and the byte to put there. Results are not looked at: whatever the case is, it ends with a status and leaks nothing.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../unit/scratch_directory.h"
#include "fixture.h"
#include "fuzz.h"
#include "lab/eval/eval_kinds.h"

#define GOLDEN VKF_TEST_SOURCE_DIR "/tests/golden/"
#define MAX_FILE_BYTES (1 << 18)

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{\"kind\":\"gemm\",\"alpha\":0.5,\"b_shared\":false,\"batch\":1,\"beta\":-1.3,\"c_has_nan\":false,"
              "\"has_bias\":true,\"has_c\":true,\"k\":64,\"m\":1,\"n\":127,\"trans_a\":false,\"trans_b\":false}\1"),
    FUZZ_TEXT("{\"kind\":\"mha\",\"add_bias_kv\":false,\"add_zero_attn\":false,\"attn_mask\":\"bool\",\"batch\":3,"
              "\"batch_first\":true,\"bias\":true,\"embed_dim\":50,\"kdim\":50,\"key_padding_mask\":\"bool\","
              "\"num_heads\":1,\"self_attention\":false,\"src_len\":2,\"tgt_len\":2,\"vdim\":50}\1"),
    FUZZ_TEXT("{\"kind\":\"encoder_layer\",\"activation\":\"relu\",\"batch\":3,\"d_model\":33,\"dim_feedforward\":3,"
              "\"layer_norm_eps\":1e-12,\"nhead\":3,\"norm_first\":false,\"src_key_padding_mask\":true,\"src_len\":16,"
              "\"src_mask\":\"causal_float\"}\1"),
    FUZZ_TEXT("{\"kind\":\"permute\",\"B\":2,\"D\":1,\"H\":6,\"L\":33,\"direction\":\"merge_heads\"}\1"),
    FUZZ_TEXT("{\"kind\":\"additive_attention\",\"attn_dim\":16,\"batch\":3,\"bias\":false,\"d_h\":133,\"d_s\":2,"
              "\"mask\":false,\"src_len\":15,\"tgt_len\":1}\1"),
    FUZZ_TEXT("{\"kind\":\"seed2\",\"batch\":3,\"hid_dim\":28,\"key_len\":35,\"mask\":\"pad\",\"mask_fill\":-1e10,"
              "\"n_heads\":4,\"query_len\":12}\1"),
    FUZZ_TEXT("{\"kind\":\"transformer\",\"activation\":\"gelu\",\"batch\":4,\"d_model\":7,\"dim_feedforward\":256,"
              "\"layer_norm_eps\":1e-06,\"masks\":[\"src_mask\",\"tgt_mask\",\"src_key_padding_mask\",\"memory_key_"
              "padding_mask\"],\"nhead\":7,\"norm_first\":false,"
              "\"num_decoder_layers\":2,\"num_encoder_layers\":4,\"src_len\":5,\"tgt_len\":8}\1"),
    FUZZ_TEXT("{\"kind\":\"seq2seq\",\"activation\":\"relu\",\"batch\":2,\"bos_id\":1,\"d_model\":20,"
              "\"dim_feedforward\":37,\"eos_id\":83,\"layer_norm_eps\":1e-05,\"max_len\":20,\"nhead\":2,"
              "\"norm_first\":true,\"num_decoder_layers\":1,\"num_encoder_layers\":2,\"pad_id\":0,\"proj_bias\":true,"
              "\"share_embed\":false,\"src_len\":13,\"src_vocab\":41,\"tgt_len\":21,\"tgt_vocab\":105,"
              "\"tie_proj\":false}\1"),
    FUZZ_TEXT("{\"kind\":\"gemm\",\"alpha\":1,\"batch\":1,\"beta\":0,\"k\":64,\"m\":1,\"n\":127}\1\0\12\0x\1\20\0\60"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

// The stored case that has the weights and inputs of each kind above.
static const struct {
    const char *kind, *directory;
} stored[] = {
    {"gemm", GOLDEN "gemm/case_0004"},
    {"mha", GOLDEN "mha/case_0006"},
    {"encoder_layer", GOLDEN "encoder_layer/case_0004"},
    {"permute", GOLDEN "permute/case_0025"},
    {"additive_attention", GOLDEN "additive_attention/case_0000"},
    {"seed2", GOLDEN "seed2/case_0001"},
    {"transformer", GOLDEN "transformer/case_0001"},
    {"seq2seq", GOLDEN "seq2seq/case_0003"},
};

typedef struct eval_fuzz {
    vkf_test_gpu gpu;
    vkf__host host;
    scratch_directory scratch;
} eval_fuzz;

static eval_fuzz *state;

static void finish(void)
{
    vkf_context_destroy(&state->gpu.context);
    scratch_list(&state->scratch, 1);
    rmdir(state->scratch.path);
    free(state);
}

// Once. Without a device nothing can run, and the test counts as skipped.
static void start(void)
{
    if (state)
        return;
    vkf_context_desc desc = {0};
    state = calloc(1, sizeof *state);
    FUZZ_CHECK(state && vkf_test_gpu_open(&state->gpu, &desc) == 0);
    if (!state->gpu.context) {
        printf("skipped: no device\n");
        exit(77);
    }
    FUZZ_CHECK(vkf__host_init(&state->host, NULL, NULL, NULL, VKF_SEVERITY_ERROR) == VKF_OK);
    snprintf(state->scratch.path, sizeof state->scratch.path, "/tmp/vkformer-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(state->scratch.path) && atexit(finish) == 0);
}

// A kind's file with the changes that are for it.
static void put_file(const char *directory, const char *name, uint8_t number, const uint8_t *changes, size_t size_bytes)
{
    char path[512];
    uint8_t *data = malloc(MAX_FILE_BYTES);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_RDONLY);
    FUZZ_CHECK(data && file >= 0);
    ssize_t count = read(file, data, MAX_FILE_BYTES);
    FUZZ_CHECK(count > 0 && count < MAX_FILE_BYTES);
    close(file);
    for (size_t i = 0; i + 4 <= size_bytes; i += 4)
        if (changes[i] % 2 == number)
            data[(size_t)(changes[i + 1] | changes[i + 2] << 8) % (size_t)count] = changes[i + 3];
    scratch_write(&state->scratch, name, data, (size_t)count);
    free(data);
}

static const char *directory_of(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        char kind[32];
        size_t length = (size_t)snprintf(kind, sizeof kind, "\"%s\"", stored[i].kind);
        for (size_t at = 0; at + length <= size_bytes; at++)
            if (memcmp(text + at, kind, length) == 0)
                return stored[i].directory;
    }
    return stored[0].directory;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    start();
    const uint8_t *changes = memchr(data, 1, size_bytes);
    size_t text_bytes = changes ? (size_t)(changes - data) : size_bytes;
    size_t change_bytes = changes ? size_bytes - text_bytes - 1 : 0;
    const char *directory = directory_of((const char *)data, text_bytes);
    scratch_write(&state->scratch, "config.json", data, text_bytes);
    put_file(directory, "weights.safetensors", 0, changes ? changes + 1 : NULL, change_bytes);
    put_file(directory, "inputs.safetensors", 1, changes ? changes + 1 : NULL, change_bytes);
    const vkf_eval_settings settings = {
        .context = state->gpu.context,
        .host = &state->host,
        .fully_masked = VKF_FULLY_MASKED_NAN,
        .types = vkf_types_of_precision(VKF_MODEL_PRECISION_F32),
    };
    vkf_eval_case c;
    if (vkf__eval_case_open(&settings, state->scratch.path, &c) != VKF_OK)
        return 0;
    const vkf_eval_kind *kind = vkf__eval_kind(c.kind);
    vkf_status status = kind ? kind->run(&c) : VKF_ERROR_FORMAT;
    FUZZ_CHECK(status != VKF_ERROR_DEVICE_LOST);
    vkf__eval_case_close(&c);
    return 0;
}
