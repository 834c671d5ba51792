// vkformer quantize: a model directory whose linear layers' weights are in blocks, for less memory wherever it is loaded. It is
// done on the host alone, tensor by tensor, so that neither a device nor room for the model is needed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "io/file_map.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/inspection.h"
#include "model/weight_blocks.h"
#include "options.h"
#include "precision.h"
#include "progress.h"

enum { OPT_TYPE = VKF_OPT_OWN, OPT_HELP };

typedef struct quantize_options {
    const char *directory;
    const char *out_directory;
    vkf_quantization quantization;
    bool help;
} quantize_options;

static void print_help(void)
{
    fputs(
        "usage: vkformer quantize [OPTIONS] MODEL OUT\n"
        "\n"
        "Writes the model in the directory MODEL to the directory OUT, which is made, with the weights of its linear\n"
        "layers in blocks of 32 elements that share a scale. Whatever takes MODEL takes OUT, too. Norms, biases,\n"
        "embeddings and weights that do not fit blocks stay as they are. No device is needed.\n"
        "\n"
        "  --type TYPE  q8: 8.5 bits to a weight (default); q4: 5 bits\n"
        "  --help       print this\n",
        stdout);
}

static bool parse(int argc, char **argv, quantize_options *options)
{
    static const struct option long_options[] = {
        {"type", required_argument, NULL, OPT_TYPE},
        {"help", no_argument, NULL, OPT_HELP},
        {0},
    };
    for (int opt; (opt = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (opt == OPT_HELP)
            options->help = true;
        else if (opt != OPT_TYPE || !vkf_parse_quantization("--type", optarg, &options->quantization))
            return false;
    }
    if (options->help)
        return true;
    if (argc - optind != 2) {
        vkf_print_error("quantize takes a model directory and one to write, not %d; see vkformer quantize --help",
                        argc - optind);
        return false;
    }
    options->directory = argv[optind];
    options->out_directory = argv[optind + 1];
    return true;
}

// ---- what becomes of each tensor

typedef struct plan {
    const vkf__host *host;
    const vkf__inspection *inspection;
    vkf__stored_tensor *tensors; // as they will be stored
    vkf__weight_slot *slots;     // of those that come in blocks: the whole tensor
    const vkf__stored_tensor **from;
    size_t count, block_count;
    vkf_dtype dtype;
    vkf_progress progress;
    uint32_t written;
} plan;

static void plan_free(plan *p)
{
    vkf__free(p->host, p->tensors);
    vkf__free(p->host, p->slots);
    vkf__free(p->host, p->from);
}

static void plan_tensor(plan *p, size_t index)
{
    const vkf__stored_tensor *from = p->from[index];
    vkf__stored_tensor *to = &p->tensors[index];
    vkf__weight_slot *slot = &p->slots[index];
    *to = *from;
    *slot = (vkf__weight_slot){0};
    if (!vkf__whole_in_blocks(p->inspection->slots, p->inspection->slot_count, from, slot))
        return;
    to->type = VKF_STORED_U8;
    to->shape[0] = slot->shape[0];
    to->shape[1] = slot->shape[1] / VKF_BLOCK * vkf_dtype_block_bytes(p->dtype);
    to->size_bytes = to->shape[0] * to->shape[1];
    to->data = NULL;
    p->block_count++;
}

static vkf_status make_plan(const vkf__host *host, const vkf__inspection *inspection, vkf_quantization quantization,
                            plan *out)
{
    vkf_status status = VKF_OK;
    plan p = {.host = host, .inspection = inspection, .count = vkf__checkpoint_count(inspection->checkpoint)};
    p.dtype = quantization == VKF_QUANTIZATION_Q4 ? VKF_DTYPE_Q4 : VKF_DTYPE_Q8;
    VKF_ALLOC(host, p.tensors, p.count);
    VKF_ALLOC(host, p.slots, p.count);
    VKF_ALLOC(host, p.from, p.count);
    for (size_t i = 0; i < p.count; i++) {
        p.from[i] = vkf__checkpoint_at(inspection->checkpoint, i);
        plan_tensor(&p, i);
    }
    if (p.block_count == 0)
        status = vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                           "%s: no weight in it can be put into blocks: they are in blocks already, or their depth is "
                           "no multiple of 32",
                           vkf__checkpoint_path(inspection->checkpoint));
fail:
    if (status == VKF_OK)
        *out = p;
    else
        plan_free(&p);
    return status;
}

// ---- the weights

static vkf_status write_blocks(const plan *p, size_t index, vkf__new_file *file)
{
    vkf_status status = VKF_OK;
    const vkf__weight_slot *slot = &p->slots[index];
    const vkf__block_source source = {p->host, p->inspection->checkpoint, p->from[index], slot, p->dtype};
    size_t row_bytes = (size_t)p->tensors[index].shape[1];
    float *values = NULL;
    uint8_t *blocks = NULL;
    VKF_ALLOC(p->host, values, (size_t)VKF_BLOCK_PANEL * slot->shape[1]);
    VKF_ALLOC(p->host, blocks, VKF_BLOCK_PANEL * row_bytes);
    for (uint32_t row = 0; row < slot->shape[0]; row += VKF_BLOCK_PANEL) {
        uint32_t left = slot->shape[0] - row, count = left < VKF_BLOCK_PANEL ? left : VKF_BLOCK_PANEL;
        VKF_TRY(vkf__rows_to_blocks(&source, row, count, values, blocks));
        VKF_TRY(vkf__new_file_write(file, blocks, count * row_bytes));
    }
fail:
    vkf__free(p->host, values);
    vkf__free(p->host, blocks);
    return status;
}

static vkf_status write_tensor(void *user, size_t index, vkf__new_file *file)
{
    plan *p = user;
    const vkf__stored_tensor *tensor = &p->tensors[index];
    vkf_progress_show(&p->progress, p->written++, (uint32_t)p->count, tensor->name);
    if (p->slots[index].rank > 0)
        return write_blocks(p, index, file);
    return vkf__new_file_write(file, tensor->data, (size_t)tensor->size_bytes);
}

static vkf_status write_weights(plan *p, const char *path)
{
    p->progress = vkf_progress_start("quantising");
    vkf_status status = vkf__safetensors_write_made(p->host, path, p->tensors, p->count, write_tensor, p);
    vkf_progress_end(&p->progress);
    return status;
}

// ---- the other files of a directory

static vkf_status write_whole(const vkf__host *host, const char *path, const void *data, size_t size_bytes)
{
    vkf_status status = VKF_OK;
    vkf__new_file file = {0};
    VKF_TRY(vkf__new_file_open(host, path, &file));
    VKF_TRY(vkf__new_file_write(&file, data, size_bytes));
    status = vkf__new_file_commit(&file);
fail:
    vkf__new_file_discard(&file);
    return status;
}

// With the key that transformers names a quantisation by, so that what cannot read this one says so.
static vkf_status write_config(const vkf__host *host, const char *from, const char *to, vkf_dtype dtype)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    char *text = NULL;
    VKF_TRY(vkf__json_load(host, from, &root));
    json_t *quantization = json_pack("{s:s, s:s, s:i}", "quant_method", "vkformer", "type", vkf_dtype_name(dtype),
                                     "group_size", VKF_BLOCK);
    if (json_object_set_new(root, "quantization_config", quantization) == 0)
        text = json_dumps(root, JSON_INDENT(2));
    status = text ? write_whole(host, to, text, strlen(text))
                  : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its text", to);
fail:
    free(text);
    json_decref(root);
    return status;
}

static vkf_status copy_file(const vkf__host *host, const char *from, const char *to)
{
    vkf__file_map map;
    vkf_status status = vkf__file_map_open(host, from, &map);
    if (status != VKF_OK)
        return status;
    status = write_whole(host, to, map.data, map.size_bytes);
    vkf__file_map_close(host, &map);
    return status;
}

// What readers of model directories look for beside the weights. The configuration comes last: without it there is no model.
static const char *const files[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "vocabulary.json",
    "merges.txt",
    "source.spm",
    "target.spm",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "generation_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "chat_template.jinja",
    "README.md",
    "LICENSE",
    "model.safetensors",
    "config.json",
};

#define FILE_COUNT (sizeof files / sizeof files[0])

static vkf_status write_one(plan *p, const quantize_options *options, const char *name)
{
    vkf_status status = VKF_OK;
    char *from = NULL, *to = NULL;
    VKF_TRY(vkf__path_join(p->host, options->directory, name, &from));
    VKF_TRY(vkf__path_join(p->host, options->out_directory, name, &to));
    if (strcmp(name, "model.safetensors") == 0)
        status = write_weights(p, to);
    else if (strcmp(name, "config.json") == 0)
        status = write_config(p->host, from, to, p->dtype);
    else if (vkf__file_exists(from))
        status = copy_file(p->host, from, to);
fail:
    vkf__free(p->host, from);
    vkf__free(p->host, to);
    return status;
}

static vkf_status make_directory(const vkf__host *host, const char *path)
{
    if (mkdir(path, 0777) == 0)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be made: %s%s", path, strerror(errno),
                     errno == EEXIST ? "; name a directory that is not there yet" : "");
}

// Directories that OUT will have, the outer one first.
static const char *const directories[] = {"", "1_Pooling"};

static void remove_all(const vkf__host *host, const char *directory)
{
    char *path = NULL;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        if (vkf__path_join(host, directory, files[i], &path) == VKF_OK)
            (void)remove(path);
        vkf__free(host, path);
        path = NULL;
    }
    for (size_t i = sizeof directories / sizeof directories[0]; i-- > 0;) {
        if (vkf__path_join(host, directory, directories[i], &path) == VKF_OK)
            (void)rmdir(path);
        vkf__free(host, path);
        path = NULL;
    }
}

static vkf_status make_directories(const vkf__host *host, const quantize_options *options)
{
    vkf_status status = VKF_OK;
    char *pooling = NULL, *out_pooling = NULL;
    VKF_TRY(make_directory(host, options->out_directory));
    VKF_TRY(vkf__path_join(host, options->directory, "1_Pooling", &pooling));
    VKF_TRY(vkf__path_join(host, options->out_directory, "1_Pooling", &out_pooling));
    if (vkf__file_exists(pooling))
        VKF_TRY(make_directory(host, out_pooling));
fail:
    vkf__free(host, pooling);
    vkf__free(host, out_pooling);
    return status;
}

static vkf_status write_directory(plan *p, const quantize_options *options)
{
    vkf_status status = make_directories(p->host, options);
    for (size_t i = 0; i < FILE_COUNT && status == VKF_OK; i++)
        status = write_one(p, options, files[i]);
    return status;
}

static vkf_status quantize(const vkf__host *host, const quantize_options *options)
{
    vkf_status status = VKF_OK;
    vkf__inspection inspection = {0};
    plan p = {.host = host};
    struct stat there;
    if (stat(options->out_directory, &there) == 0)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: is there already; name a directory that is not",
                         options->out_directory);
    VKF_TRY(vkf__inspect_model(host, options->directory, &inspection));
    VKF_TRY(inspection.supported);
    VKF_TRY(make_plan(host, &inspection, options->quantization, &p));
    status = write_directory(&p, options);
    if (status != VKF_OK)
        remove_all(host, options->out_directory);
    else
        printf("%s: %zu of %zu tensors in blocks, %s\n", options->out_directory, p.block_count, p.count,
               vkf_dtype_name(p.dtype));
fail:
    plan_free(&p);
    vkf__inspection_free(host, &inspection);
    return status;
}

static void print_message(void *user, vkf_severity severity, const char *message)
{
    (void)user;
    if (severity >= VKF_SEVERITY_WARNING)
        vkf_print_error("%s", message);
}

int vkf_cmd_quantize(int argc, char **argv)
{
    quantize_options options = {0};
    vkf__host host;
    if (!parse(argc, argv, &options))
        return VKF_EXIT_USAGE;
    if (options.help) {
        print_help();
        return VKF_EXIT_DONE;
    }
    bool done = vkf__host_init(&host, NULL, print_message, NULL, VKF_SEVERITY_WARNING) == VKF_OK &&
                quantize(&host, &options) == VKF_OK;
    return done ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}
