// Loading models: broken directories and files, stored types, plans, and failures that leave nothing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/half.h"
#include "kernel/context.h"
#include "model/load/model.h"
#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

// A context with counted host memory, and a directory with a good model before each test.
typedef struct fixture {
    vkf_test_counted counted; // first: the state of a test begins with it
    vkf_test_directory directory;
    vkf_test_weights weights;
    char warning[512]; // the newest
} fixture;

static void listen(void *user, vkf_severity severity, const char *text)
{
    fixture *f = user;
    if (severity == VKF_SEVERITY_WARNING)
        snprintf(f->warning, sizeof f->warning, "%s", text);
    if (severity == VKF_SEVERITY_ERROR)
        snprintf(f->counted.gpu.last_error, sizeof f->counted.gpu.last_error, "%s", text);
    if (severity == VKF_SEVERITY_VALIDATION && f->counted.gpu.validation_messages++ == 0)
        snprintf(f->counted.gpu.first_validation, sizeof f->counted.gpu.first_validation, "%s", text);
}

static void write_good(fixture *f)
{
    vkf_test_config_write(&f->weights.config, vkf_test_path(&f->directory, "config.json"));
    vkf_test_weights_write(&f->weights, VKF_STORED_F32, vkf_test_path(&f->directory, "model.safetensors"));
}

static int setup(void **state)
{
    return vkf_test_counted_open(state, sizeof(fixture));
}

static int make_files(void **state)
{
    fixture *f = *state;
    const vkf_model_config config = vkf_test_small_seq2seq();
    vkf_test_directory_make(&f->directory);
    vkf_test_weights_make(&f->counted.gpu.random, &config, &f->weights);
    write_good(f);
    if (f->counted.gpu.context) {
        // The fixture of all tests keeps errors alone.
        f->counted.gpu.context->host.message = listen;
        f->counted.gpu.context->host.message_user = f;
    }
    f->warning[0] = f->counted.gpu.last_error[0] = '\0';
    return 0;
}

static int remove_files(void **state)
{
    fixture *f = *state;
    f->counted.memory.fail_call = 0;
    vkf_test_weights_free(&f->weights);
    vkf_test_directory_remove(&f->directory);
    return 0;
}

static fixture *fixture_of(void **state)
{
    (void)vkf_test_gpu_of(state);
    return *state;
}

static vkf_model *load(fixture *f, vkf_model_precision precision)
{
    return vkf_test_load_pretrained(&f->counted.gpu, f->directory.path, precision);
}

// Loading and planning fail with this status and a message that has both parts, write nothing and keep nothing.
static void assert_load_fails(fixture *f, const vkf_model_desc *desc, vkf_status expected, const char *part,
                              const char *other_part)
{
    vkf_model *untouched = (vkf_model *)(void *)f, *model = untouched;
    size_t live = f->counted.memory.live;
    uint64_t used = vkf_test_bytes_in_use(&f->counted.gpu);
    f->counted.gpu.last_error[0] = '\0';
    vkf_status status = vkf_model_load(f->counted.gpu.context, desc, &model);
    if (status != expected || !strstr(f->counted.gpu.last_error, part) ||
        !strstr(f->counted.gpu.last_error, other_part))
        fail_msg("%s: '%s', expected %s with '%s' and '%s'", vkf_status_name(status), f->counted.gpu.last_error,
                 vkf_status_name(expected), part, other_part);
    assert_ptr_equal(model, untouched);
    assert_int_equal(f->counted.memory.live, live);
    assert_int_equal(vkf_test_bytes_in_use(&f->counted.gpu), used);
}

static void assert_fails(fixture *f, const vkf_model_desc *desc, vkf_status expected, const char *part,
                         const char *other_part)
{
    vkf_memory_plan plan = {.heap_count = 77};
    size_t live = f->counted.memory.live;
    assert_load_fails(f, desc, expected, part, other_part);
    assert_int_equal(vkf_model_plan(f->counted.gpu.context, desc, &plan), expected);
    assert_int_equal(plan.heap_count, 77);
    assert_int_equal(f->counted.memory.live, live);
}

static void assert_directory_fails(fixture *f, vkf_status expected, const char *part, const char *other_part)
{
    const vkf_model_desc desc = {.directory = f->directory.path};
    assert_fails(f, &desc, expected, part, other_part);
}

// Files --------------------------------------------------------------------------------------------------------------

static void test_load_good_directory(void **state)
{
    fixture *f = fixture_of(state);
    uint64_t used = vkf_test_bytes_in_use(&f->counted.gpu);
    vkf_model_config config;
    vkf_model *model = load(f, VKF_MODEL_PRECISION_F32);
    vkf_model_get_config(model, &config);
    assert_int_equal(config.d_model, 32);
    assert_int_equal(config.eos_id, 2);
    assert_int_equal(config.max_target_len, 16);
    assert_true(config.norm_first && config.projection_bias && !config.tie_projection && !config.share_embedding);
    assert_string_equal(f->warning, "");
    vkf_model_destroy(&model);
    assert_null(model);
    assert_int_equal(vkf_test_bytes_in_use(&f->counted.gpu), used);
}

static void test_load_missing_files(void **state)
{
    fixture *f = fixture_of(state);
    const vkf_model_desc nowhere = {.directory = "/tmp/vkformer-no-such-directory"};
    assert_fails(f, &nowhere, VKF_ERROR_FILE, "/tmp/vkformer-no-such-directory", "there is no such directory");
    remove(vkf_test_path(&f->directory, "model.safetensors"));
    const vkf_model_desc weightless = {.directory = f->directory.path};
    vkf_memory_plan without, with;
    assert_load_fails(f, &weightless, VKF_ERROR_FILE, f->directory.path, "model.safetensors");
    assert_int_equal(vkf_model_plan(f->counted.gpu.context, &weightless, &without), VKF_OK); // it needs no weights
    write_good(f);
    assert_int_equal(vkf_model_plan(f->counted.gpu.context, &weightless, &with), VKF_OK);
    assert_int_equal(without.weights_bytes, with.weights_bytes);
    remove(vkf_test_path(&f->directory, "config.json"));
    assert_directory_fails(f, VKF_ERROR_FILE, f->directory.path, "config.json");
}

static void test_load_files_of_the_wrong_kind(void **state)
{
    fixture *f = fixture_of(state);
    char file[256];
    snprintf(file, sizeof file, "%s/config.json", f->directory.path);
    const vkf_model_desc not_a_directory = {.directory = file};
    assert_fails(f, &not_a_directory, VKF_ERROR_FILE, "config.json", "is a file; name the directory");
    const vkf_model_desc not_a_file = {.config = &f->weights.config, .weights_path = f->directory.path};
    assert_fails(f, &not_a_file, VKF_ERROR_FILE, f->directory.path, "");
    remove(file);
    assert_int_equal(mkdir(file, 0700), 0);
    assert_directory_fails(f, VKF_ERROR_FILE, "config.json", "");
    assert_int_equal(rmdir(file), 0);
}

// The number of bytes at which to cut: all of the beginning, and then some.
static void test_load_truncated_weights(void **state)
{
    fixture *f = fixture_of(state);
    size_t size = 0;
    char path[256];
    snprintf(path, sizeof path, "%s/model.safetensors", f->directory.path);
    char *data = vkf_test_read_file(path, &size);
    const size_t cuts[] = {0, 1, 7, 8, 9, 100, size / 2, size - 4, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        vkf_test_write_file(path, data, cuts[i]);
        assert_directory_fails(f, VKF_ERROR_FORMAT, "model.safetensors", "");
    }
    data[9] ^= 0x40;
    vkf_test_write_file(path, data, size);
    assert_directory_fails(f, VKF_ERROR_FORMAT, "model.safetensors", "");
    free(data);
}

static void test_vocabulary_load_broken(void **state)
{
    fixture *f = fixture_of(state);
    const char text[] = "{\"source\": {\"tokens\": [\"<pad>\", \"<bos>\", \"<eos>\", \"unk\"]}, \"target\": {}}";
    vkf_vocabulary *vocabulary = NULL;
    size_t live = f->counted.memory.live;
    vkf_test_expect(&f->counted.gpu, vkf_vocabulary_load(f->counted.gpu.context, f->directory.path, &vocabulary),
                    VKF_ERROR_FILE, "vocabulary.json");
    vkf_test_write_file(vkf_test_path(&f->directory, "vocabulary.json"), text, 10);
    assert_int_equal(vkf_vocabulary_load(f->counted.gpu.context, f->directory.path, &vocabulary), VKF_ERROR_FORMAT);
    vkf_test_write_file(vkf_test_path(&f->directory, "vocabulary.json"), text, sizeof text - 1);
    vkf_test_expect(&f->counted.gpu, vkf_vocabulary_load(f->counted.gpu.context, f->directory.path, &vocabulary),
                    VKF_ERROR_FORMAT, "vocabulary.json: source.tokens[3]");
    assert_int_equal(vkf_vocabulary_load(NULL, f->directory.path, &vocabulary), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_vocabulary_load(f->counted.gpu.context, NULL, &vocabulary), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(vocabulary);
    assert_int_equal(f->counted.memory.live, live);
}

// config.json --------------------------------------------------------------------------------------------------------

static const struct edit {
    const char *from, *to;
    vkf_status status;
    const char *message;
} edits[] = {
    {"\"d_model\": 32, ", "", VKF_ERROR_FORMAT, "'d_model' is missing"},
    {"\"norm_first\": true, ", "", VKF_ERROR_FORMAT, "'norm_first' is missing"},
    {"\"eos_id\": 2, ", "", VKF_ERROR_FORMAT, "'eos_id' is missing"},
    {"\"d_model\": 32", "\"d_model\": \"32\"", VKF_ERROR_FORMAT, "'d_model' is a string"},
    {"\"d_model\": 32", "\"d_model\": 32.5", VKF_ERROR_FORMAT, "'d_model' is a number with a fraction"},
    {"\"norm_first\": true", "\"norm_first\": 1", VKF_ERROR_FORMAT, "'norm_first' is a whole number"},
    {"\"activation\": \"relu\"", "\"activation\": null", VKF_ERROR_FORMAT, "'activation' is null"},
    {"\"activation\": \"relu\"", "\"activation\": \"swish\"", VKF_ERROR_FORMAT, "swish"},
    {"\"d_model\": 32", "\"d_model\": 0", VKF_ERROR_FORMAT, "'d_model'"},
    {"\"d_model\": 32", "\"d_model\": -32", VKF_ERROR_FORMAT, "'d_model'"},
    {"\"d_model\": 32", "\"d_model\": 2000000", VKF_ERROR_FORMAT, "'d_model'"},
    {"\"d_model\": 32", "\"d_model\": 4294967328", VKF_ERROR_FORMAT, "'d_model'"},
    {"\"d_model\": 32", "\"d_model\": 99999999999999999999", VKF_ERROR_FORMAT, "'d_model' is 1e+20"},
    {"\"nhead\": 4", "\"nhead\": 0", VKF_ERROR_FORMAT, "'nhead'"},
    {"\"nhead\": 4", "\"nhead\": 5", VKF_ERROR_FORMAT, "d_model is no multiple"},
    {"\"dim_feedforward\": 48", "\"dim_feedforward\": 0", VKF_ERROR_FORMAT, "'dim_feedforward'"},
    {"\"num_encoder_layers\": 2", "\"num_encoder_layers\": 100000", VKF_ERROR_FORMAT, "'num_encoder_layers'"},
    {"\"src_vocab\": 23", "\"src_vocab\": 2147483648", VKF_ERROR_FORMAT, "'src_vocab'"},
    {"\"pad_id\": 0", "\"pad_id\": 19", VKF_ERROR_FORMAT, "pad_id"},
    {"\"bos_id\": 1", "\"bos_id\": -1", VKF_ERROR_FORMAT, "'bos_id'"},
    {"\"share_embed\": false", "\"share_embed\": true", VKF_ERROR_FORMAT, "shared embedding"},
    {"\"layer_norm_eps\": 9", "\"layer_norm_eps\": -9", VKF_ERROR_FORMAT, "layer_norm_eps"},
    {"\"layer_norm_eps\": 9", "\"layer_norm_eps\": 1e300, \"was\": 9", VKF_ERROR_FORMAT, "'layer_norm_eps'"},
    {"\"max_len\": 16", "\"max_len\": 1", VKF_ERROR_FORMAT, "'max_len'"},
    {"\"model_type\": \"vkformer-seq2seq\"", "\"model_type\": \"mamba\"", VKF_ERROR_UNSUPPORTED, "\"mamba\""},
    {"\"model_type\": \"vkformer-seq2seq\"", "\"model_type\": 7", VKF_ERROR_FORMAT, "'model_type'"},
    {"{\"model_type\"", "[\"model_type\"", VKF_ERROR_FORMAT, "config.json:1"},
    {"\"nhead\": 4", "\"d_model\": 0, \"nhead\": 4", VKF_ERROR_FORMAT, "'d_model' is 0"}, // of a key twice the last
    {"\"max_source_len\": 16}", "\"max_source_len\": 16", VKF_ERROR_FORMAT, "config.json:"},
    // Fit for a configuration, but not for the file.
    {"\"d_model\": 32", "\"d_model\": 64", VKF_ERROR_FORMAT, "transformer.encoder.layers.0.self_attn.in_proj_weight"},
    {"\"d_model\": 32", "\"d_model\": 1048576", VKF_ERROR_FORMAT, "in_proj_weight"},
    {"\"num_encoder_layers\": 2", "\"num_encoder_layers\": 1024", VKF_ERROR_FORMAT,
     "transformer.encoder.layers.2.self_attn.in_proj_weight is missing"},
    {"\"tgt_vocab\": 19", "\"tgt_vocab\": 20", VKF_ERROR_FORMAT, "tgt_embed.weight"},
};

static void test_load_broken_config(void **state)
{
    fixture *f = fixture_of(state);
    char path[256];
    snprintf(path, sizeof path, "%s/config.json", f->directory.path);
    char *good = vkf_test_read_file(path, NULL);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        char text[1200];
        const char *at = strstr(good, edits[i].from);
        if (!at)
            fail_msg("the good file has no %s", edits[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, edits[i].to, at + strlen(edits[i].from));
        vkf_test_write_file(path, text, strlen(text));
        assert_directory_fails(f, edits[i].status, f->directory.path, edits[i].message);
    }
    free(good);
}

static void test_load_wrong_config_argument(void **state)
{
    fixture *f = fixture_of(state);
    char path[256];
    snprintf(path, sizeof path, "%s/model.safetensors", f->directory.path);
    vkf_model_config configs[10];
    for (size_t i = 0; i < 10; i++)
        configs[i] = f->weights.config;
    configs[0].num_heads = 0;
    configs[1].num_heads = 3;
    configs[2].d_model = 0;
    configs[3].dim_feedforward = UINT32_MAX;
    configs[4].num_encoder_layers = configs[4].num_decoder_layers = UINT32_MAX / 2 + 1; // their sum is 0
    configs[5].activation = VKF_ACTIVATION_COUNT;
    configs[6].kind = VKF_MODEL_KIND_COUNT;
    configs[7].layer_norm_eps = -1;
    configs[8].bos_id = -1;
    configs[9].source_vocab = UINT32_MAX;
    for (size_t i = 0; i < 10; i++) {
        const vkf_model_desc desc = {.config = &configs[i], .weights_path = path};
        assert_fails(f, &desc, VKF_ERROR_INVALID_ARGUMENT, "vkf_model_load", "");
    }
}

static void test_load_wrong_arguments(void **state)
{
    fixture *f = fixture_of(state);
    const vkf_model_config *config = &f->weights.config;
    const vkf_model_desc descs[] = {
        {0},
        {.config = config},
        {.weights_path = "weights"},
        {.directory = f->directory.path, .config = config, .weights_path = "weights"},
        {.directory = f->directory.path, .weights_path = "weights"},
        {.directory = f->directory.path, .precision = VKF_MODEL_PRECISION_COUNT},
        {.directory = f->directory.path, .precision = (vkf_model_precision)-2},
    };
    vkf_model *model = NULL;
    vkf_memory_plan plan;
    for (size_t i = 0; i < sizeof descs / sizeof descs[0]; i++)
        assert_fails(f, &descs[i], VKF_ERROR_INVALID_ARGUMENT, "", "");
    assert_int_equal(vkf_model_load(NULL, &descs[1], &model), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_model_load(f->counted.gpu.context, NULL, &model), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_model_load(f->counted.gpu.context, &descs[1], NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_model_plan(f->counted.gpu.context, &descs[1], NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_model_plan(NULL, &descs[1], &plan), VKF_ERROR_INVALID_ARGUMENT);
    vkf_model_destroy(NULL);
    vkf_model_destroy(&model);
}

// Weights ------------------------------------------------------------------------------------------------------------

static const char *const some_tensors[] = {
    "transformer.encoder.layers.1.self_attn.in_proj_bias",
    "transformer.decoder.layers.0.multihead_attn.out_proj.weight",
    "transformer.decoder.layers.1.linear1.weight",
    "transformer.decoder.layers.1.norm3.bias",
    "transformer.encoder.norm.weight",
    "src_embed.weight",
    "tgt_embed.weight",
    "generator.weight",
    "generator.bias",
};
#define SOME (sizeof some_tensors / sizeof some_tensors[0])

static void test_load_missing_tensor(void **state)
{
    fixture *f = fixture_of(state);
    char missing[160];
    for (size_t i = 0; i < SOME; i++) {
        vkf_test_weight *tensor = vkf_test_weight_of(&f->weights, "%s", some_tensors[i]);
        snprintf(missing, sizeof missing, "%s is missing", some_tensors[i]);
        tensor->name[0] = 'x';
        write_good(f);
        tensor->name[0] = some_tensors[i][0];
        assert_directory_fails(f, VKF_ERROR_FORMAT, "model.safetensors", missing);
    }
}

// The same number of elements in another shape, and another number of them.
static void test_load_wrong_shape(void **state)
{
    fixture *f = fixture_of(state);
    for (size_t i = 0; i < SOME; i++) {
        vkf_test_weight *tensor = vkf_test_weight_of(&f->weights, "%s", some_tensors[i]);
        const vkf_test_weight good = *tensor;
        tensor->rank = 2;
        tensor->shape[0] = good.rank == 2 ? good.shape[1] : 1;
        tensor->shape[1] = good.shape[0];
        if (good.shape[0] != good.shape[1]) {
            write_good(f);
            assert_directory_fails(f, VKF_ERROR_FORMAT, "model.safetensors", good.name);
        }
        *tensor = good;
        tensor->shape[0]--;
        tensor->count -= good.rank == 2 ? good.shape[1] : 1;
        write_good(f);
        *tensor = good;
        assert_directory_fails(f, VKF_ERROR_FORMAT, "model.safetensors", good.name);
    }
}

// Replaces a text in the header by one of the same length, by another type of the same size.
static void retype(fixture *f, const char *name, const char *from, const char *to)
{
    char path[256];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", f->directory.path);
    char *data = vkf_test_read_file(path, &size);
    char *entry = data + 8;
    char *tensor = strstr(entry, name);
    assert_non_null(tensor);
    char *type = strstr(tensor, from);
    assert_non_null(type);
    memcpy(type, to, strlen(to));
    vkf_test_write_file(path, data, size);
    free(data);
}

static void test_load_wrong_type(void **state)
{
    fixture *f = fixture_of(state);
    for (size_t i = 0; i < SOME; i++) {
        write_good(f);
        retype(f, some_tensors[i], "F32", i % 2 == 0 ? "I32" : "U32");
        assert_directory_fails(f, VKF_ERROR_FORMAT, i % 2 == 0 ? "I32" : "U32", some_tensors[i]);
    }
}

// Planning reads no values, and so finds nothing.
static void test_load_not_a_finite_number(void **state)
{
    static const vkf__stored_type types[] = {VKF_STORED_F32, VKF_STORED_F16, VKF_STORED_BF16};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    fixture *f = fixture_of(state);
    const vkf_model_desc desc = {.directory = f->directory.path};
    vkf_test_weight *weight = vkf_test_weight_of(&f->weights, "%s", some_tensors[1]);
    for (size_t i = 0; i < 9; i++) {
        write_good(f);
        weight->values[weight->count - 1] = bad[i % 3];
        vkf_test_weights_write(&f->weights, types[i / 3], vkf_test_path(&f->directory, "model.safetensors"));
        assert_load_fails(f, &desc, VKF_ERROR_FORMAT, "is not a finite number", some_tensors[1]);
        weight->values[weight->count - 1] = 0;
    }
}

// What is finite in the file may not be so in halves; the largest that they hold is no matter.
static void test_load_beyond_half(void **state)
{
    fixture *f = fixture_of(state);
    const vkf_model_desc desc = {.directory = f->directory.path, .precision = VKF_MODEL_PRECISION_F16_WEIGHTS};
    vkf_test_weight *weight = vkf_test_weight_of(&f->weights, "%s", some_tensors[1]);
    write_good(f);
    weight->values[0] = 65504;
    vkf_test_weights_write(&f->weights, VKF_STORED_F32, vkf_test_path(&f->directory, "model.safetensors"));
    vkf_model *model = vkf_test_load(&f->counted.gpu, &desc);
    vkf_model_destroy(&model);
    weight->values[0] = 70000;
    vkf_test_weights_write(&f->weights, VKF_STORED_F32, vkf_test_path(&f->directory, "model.safetensors"));
    assert_load_fails(f, &desc, VKF_ERROR_FORMAT, "is 70000, which weights in f16 cannot hold", some_tensors[1]);
    weight->values[0] = 0;
}

// A file for another configuration: less is asked for than there is.
static void test_load_warns_of_unused_tensors(void **state)
{
    fixture *f = fixture_of(state);
    vkf_model_config config = f->weights.config;
    config.num_decoder_layers = 1;
    config.projection_bias = false;
    vkf_test_config_write(&config, vkf_test_path(&f->directory, "config.json"));
    vkf_model *model = load(f, VKF_MODEL_PRECISION_F32);
    // A decoder layer of 8 attention, 4 feed-forward and 6 norm tensors, and the bias.
    assert_non_null(strstr(f->warning, "model.safetensors: 19 tensors"));
    vkf_model_destroy(&model);
}

// What is stored, and what comes of it -------------------------------------------------------------------------------

#define LOGITS (2u * 4u * 19u)

static void run(fixture *f, vkf_model_precision precision, float *out_logits)
{
    static const int32_t source[] = {5, 9, 22, 4, 17, 0};
    static const int32_t target[] = {1, 4, 18, 7, 1, 9, 3, 16};
    const vkf_session_desc desc = {.max_batch = 2, .max_source_len = 3, .max_target_len = 4, .max_logit_rows = 4};
    const vkf_encode_args encode = {.batch = 2, .source_len = 3, .source_ids = source};
    const vkf_decode_args decode = {.target_len = 4, .target_ids = target, .out_logits = out_logits};
    const vkf_model_desc model = {.directory = f->directory.path, .precision = precision};
    vkf_session *session = vkf_test_load_session(&f->counted.gpu, &model, &desc);
    assert_int_equal(vkf_session_encode(session, &encode), VKF_OK);
    assert_int_equal(vkf_session_decode(session, &decode), VKF_OK);
    vkf_session_destroy(&session);
}

static void write_as(fixture *f, vkf__stored_type type)
{
    vkf_test_weights_write(&f->weights, type, vkf_test_path(&f->directory, "model.safetensors"));
}

// A file of 16-bit values is the file of the same values in float32, to the bit; and near the unrounded ones.
static void check_stored(fixture *f, vkf__stored_type type, double bound)
{
    float unrounded[LOGITS], narrow[LOGITS], wide[LOGITS];
    run(f, VKF_MODEL_PRECISION_F32, unrounded);
    write_as(f, type);
    run(f, VKF_MODEL_PRECISION_F32, narrow);
    vkf_test_weights_round(&f->weights, type);
    write_as(f, VKF_STORED_F32);
    run(f, VKF_MODEL_PRECISION_F32, wide);
    assert_memory_equal(narrow, wide, sizeof narrow);
    assert_true(vkf_test_mismatches(narrow, unrounded, LOGITS, 0, 0) > LOGITS / 2);
    assert_close(narrow, unrounded, LOGITS, bound, bound, vkf_test_label(&f->counted.gpu, "rounded weights"));
}

static void test_load_f16_weights(void **state)
{
    check_stored(fixture_of(state), VKF_STORED_F16, 1e-2);
}

static void test_load_bf16_weights(void **state)
{
    check_stored(fixture_of(state), VKF_STORED_BF16, 8e-2);
}

// Parameters alone in 16 bits: a file of float32 gives what a file of the rounded values gives, to the bit; that is
// what these values give in float32, but for the order of sums; and it is not what the unrounded ones give.
static void check_narrow(fixture *f, vkf_model_precision precision, vkf__stored_type type, double rounding)
{
    float unrounded[LOGITS], from_f32[LOGITS], from_narrow[LOGITS], wide[LOGITS];
    run(f, VKF_MODEL_PRECISION_F32, unrounded);
    run(f, precision, from_f32);
    write_as(f, type);
    run(f, precision, from_narrow);
    vkf_test_weights_round(&f->weights, type);
    write_as(f, VKF_STORED_F32);
    run(f, VKF_MODEL_PRECISION_F32, wide);
    assert_memory_equal(from_f32, from_narrow, sizeof from_f32);
    assert_close(from_narrow, wide, LOGITS, 5e-5, 1e-4, vkf_test_label(&f->counted.gpu, "narrow parameters"));
    assert_true(vkf_test_mismatches(from_narrow, unrounded, LOGITS, rounding / 4, 0) > LOGITS / 4);
}

static void test_load_into_f16_weights(void **state)
{
    check_narrow(fixture_of(state), VKF_MODEL_PRECISION_F16_WEIGHTS, VKF_STORED_F16, 0x1p-11);
}

static void test_load_into_bf16_weights(void **state)
{
    check_narrow(fixture_of(state), VKF_MODEL_PRECISION_BF16_WEIGHTS, VKF_STORED_BF16, 0x1p-8);
}

static void read_row(const vkf_tensor *row, vkf_dtype dtype, uint16_t *out_bits)
{
    assert_int_equal(row->dtype, dtype);
    assert_int_equal(vkf_buffer_read(row->buffer, row->offset_bytes, out_bits, row->shape[0] * sizeof *out_bits),
                     VKF_OK);
}

// What is on the device: nearest even of float32, the largest included; and bfloat16's own bits where the file has
// them.
static void test_load_into_bf16_keeps_bits(void **state)
{
    fixture *f = fixture_of(state);
    static const char name[] = "transformer.encoder.layers.0.norm1.weight";
    vkf_test_weight *weight = vkf_test_weight_of(&f->weights, name);
    uint16_t expected[32], bits[32];
    assert_int_equal(weight->count, 32);
    weight->values[3] = -0x1.fep127f;
    weight->values[4] = 0x1.01p0f; // a tie, and so is the next
    weight->values[5] = 0x1.03p0f;
    for (size_t i = 0; i < 32; i++)
        expected[i] = vkf__bfloat_from_float(weight->values[i]);
    assert_true(expected[3] == 0xff7f && expected[4] == 0x3f80 && expected[5] == 0x3f82);
    for (int stored_narrow = 0; stored_narrow < 2; stored_narrow++) {
        write_as(f, stored_narrow ? VKF_STORED_BF16 : VKF_STORED_F32);
        vkf_model *model = load(f, VKF_MODEL_PRECISION_BF16_WEIGHTS);
        read_row(&model->weights.encoder[0].norm[0].weight, VKF_DTYPE_BF16, bits);
        assert_memory_equal(bits, expected, sizeof bits);
        vkf_model_destroy(&model);
    }
}

static void test_load_into_f16(void **state)
{
    fixture *f = fixture_of(state);
    float exact[LOGITS], from_f32[LOGITS], from_f16[LOGITS];
    run(f, VKF_MODEL_PRECISION_F32, exact);
    run(f, VKF_MODEL_PRECISION_F16, from_f32);
    write_as(f, VKF_STORED_F16);
    run(f, VKF_MODEL_PRECISION_F16, from_f16);
    assert_memory_equal(from_f32, from_f16, sizeof from_f32);
    assert_close(from_f16, exact, LOGITS, 4e-2, 4e-2, vkf_test_label(&f->counted.gpu, "f16 model"));
}

// Memory -------------------------------------------------------------------------------------------------------------

static void test_plan_is_what_load_allocates(void **state)
{
    fixture *f = fixture_of(state);
    uint64_t f32_bytes = 0;
    for (int precision = 0; precision < VKF_MODEL_PRECISION_COUNT; precision++) {
        const vkf_model_desc desc = {.directory = f->directory.path, .precision = (vkf_model_precision)precision};
        const vkf_memory_usage before = vkf_test_usage(&f->counted.gpu);
        vkf_memory_plan plan;
        uint64_t sum = 0;
        assert_int_equal(vkf_model_plan(f->counted.gpu.context, &desc, &plan), VKF_OK);
        vkf_model *model = load(f, desc.precision);
        vkf_test_assert_took(&f->counted.gpu, &before, &plan);
        for (uint32_t i = 0; i < plan.heap_count; i++)
            sum += plan.heap_bytes[i];
        assert_true(plan.weights_bytes > 0);
        assert_int_equal(plan.weights_bytes, sum);
        // Half, but for what keeps tensors apart.
        if (precision == VKF_MODEL_PRECISION_F32)
            f32_bytes = sum;
        else
            assert_in_range(sum, f32_bytes / 2, f32_bytes * 3 / 4);
        assert_int_equal(plan.activations_bytes + plan.cache_bytes + plan.control_bytes + plan.staging_bytes, 0);
        vkf_model_destroy(&model);
    }
}

static void test_load_out_of_host_memory(void **state)
{
    fixture *f = fixture_of(state);
    const vkf_model_desc desc = {.directory = f->directory.path};
    vkf_model *model = load(f, VKF_MODEL_PRECISION_F32); // what the context keeps is there from now on
    vkf_model_destroy(&model);
    size_t live = f->counted.memory.live;
    uint64_t used = vkf_test_bytes_in_use(&f->counted.gpu);
    for (f->counted.memory.fail_call = 1;; f->counted.memory.fail_call++) {
        f->counted.memory.calls = 0;
        vkf_status status = vkf_model_load(f->counted.gpu.context, &desc, &model);
        if (status == VKF_OK)
            break;
        assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_null(model);
        assert_int_equal(f->counted.memory.live, live);
        assert_int_equal(vkf_test_bytes_in_use(&f->counted.gpu), used);
    }
    assert_true(f->counted.memory.fail_call > 20);
    f->counted.memory.fail_call = 0;
    vkf_model_destroy(&model);
    assert_int_equal(f->counted.memory.live, live);
}

static VKAPI_ATTR VkResult VKAPI_CALL no_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                const VkAllocationCallbacks *callbacks, VkDeviceMemory *out_memory)
{
    (void)device;
    (void)info;
    (void)callbacks;
    (void)out_memory;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

// What is free in memory that was allocated before, in pieces of falling size. Only without new memory does this end.
typedef struct hoard {
    vkf_buffer *buffers[1024];
    size_t count;
} hoard;

static void hoard_memory(vkf_context *context, hoard *out)
{
    out->count = 0;
    for (uint64_t bytes = UINT64_C(256) << 20; bytes >= 256; bytes /= 2)
        while (vkf_buffer_create(context, bytes, "hoard", &out->buffers[out->count]) == VKF_OK)
            assert_true(++out->count < sizeof out->buffers / sizeof out->buffers[0]);
}

static void release_memory(hoard *h)
{
    while (h->count > 0)
        vkf_buffer_destroy(&h->buffers[--h->count]);
}

static void test_load_out_of_device_memory(void **state)
{
    static hoard kept;
    fixture *f = fixture_of(state);
    vkf__device *device = &f->counted.gpu.context->device;
    const PFN_vkAllocateMemory allocate = device->vk.vkAllocateMemory;
    const vkf_model_desc desc = {.directory = f->directory.path};
    size_t live = f->counted.memory.live;
    vkf_model *model = NULL;
    device->vk.vkAllocateMemory = no_memory;
    hoard_memory(f->counted.gpu.context, &kept);
    vkf_status status = vkf_model_load(f->counted.gpu.context, &desc, &model);
    device->vk.vkAllocateMemory = allocate;
    release_memory(&kept);
    assert_int_equal(status, VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_null(model);
    assert_int_equal(f->counted.memory.live, live);
    assert_non_null(strstr(f->counted.gpu.last_error, "weights"));
    model = load(f, VKF_MODEL_PRECISION_F32);
    vkf_model_destroy(&model);
}

// As the file has it where the device is fast in 16 bits, and f32 elsewhere. A plan settles it in the same way.
static void test_precision_by_file_and_device(void **state)
{
    static const struct {
        vkf__stored_type stored;
        bool halves;
        vkf_model_precision precision;
    } rows[] = {
        {VKF_STORED_F32, true, VKF_MODEL_PRECISION_F32},   {VKF_STORED_F16, true, VKF_MODEL_PRECISION_F16},
        {VKF_STORED_F16, false, VKF_MODEL_PRECISION_F32},  {VKF_STORED_BF16, true, VKF_MODEL_PRECISION_BF16_WEIGHTS},
        {VKF_STORED_BF16, false, VKF_MODEL_PRECISION_F32},
    };
    fixture *f = fixture_of(state);
    vkf__traits *traits = &f->counted.gpu.context->device.plan.caps.traits;
    const vkf__traits before = *traits;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf_model_desc automatic = {.directory = f->directory.path, .precision = VKF_MODEL_PRECISION_AUTO};
        const vkf_model_desc same = {.directory = f->directory.path, .precision = rows[i].precision};
        vkf_memory_plan plan, expected;
        write_as(f, rows[i].stored);
        traits->prefers_halves = rows[i].halves;
        vkf_model *model = load(f, VKF_MODEL_PRECISION_AUTO);
        if (vkf_model_get_precision(model) != rows[i].precision)
            fail_msg("row %zu: precision %d", i, (int)vkf_model_get_precision(model));
        vkf_model_destroy(&model);
        assert_int_equal(vkf_model_plan(f->counted.gpu.context, &automatic, &plan), VKF_OK);
        assert_int_equal(vkf_model_plan(f->counted.gpu.context, &same, &expected), VKF_OK);
        assert_int_equal(plan.weights_bytes, expected.weights_bytes);
    }
    assert_int_equal(vkf_model_get_precision(NULL), VKF_MODEL_PRECISION_F32);
    *traits = before;
}

#define with_files(test) cmocka_unit_test_setup_teardown(test, make_files, remove_files)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_files(test_load_out_of_device_memory), // first: no memory is reserved yet
        with_files(test_load_good_directory),
        with_files(test_load_missing_files),
        with_files(test_load_files_of_the_wrong_kind),
        with_files(test_load_truncated_weights),
        with_files(test_vocabulary_load_broken),
        with_files(test_load_broken_config),
        with_files(test_load_wrong_config_argument),
        with_files(test_load_wrong_arguments),
        with_files(test_load_missing_tensor),
        with_files(test_load_wrong_shape),
        with_files(test_load_wrong_type),
        with_files(test_load_not_a_finite_number),
        with_files(test_load_beyond_half),
        with_files(test_load_warns_of_unused_tensors),
        with_files(test_load_f16_weights),
        with_files(test_load_bf16_weights),
        with_files(test_load_into_f16_weights),
        with_files(test_load_into_bf16_weights),
        with_files(test_load_into_bf16_keeps_bits),
        with_files(test_load_into_f16),
        with_files(test_precision_by_file_and_device),
        with_files(test_plan_is_what_load_allocates),
        with_files(test_load_out_of_host_memory),
    };
    return cmocka_run_group_tests_name("model loading", tests, setup, vkf_test_counted_teardown);
}
