// vkformer quantize: writes a model directory with the weights of linear layers in blocks, which takes less memory
// wherever it is loaded, or with an adapter merged into them.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "output/progress.h"
#include "output/visible_text.h"

typedef struct quantize_options {
    const char *directory;
    const char *out_directory;
    const char *adapter; // NULL: none
    vkf_quantization quantization;
} quantize_options;

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer quantize [OPTIONS] MODEL OUT\n"
        "\n"
        "Writes the model in the directory MODEL to the directory OUT, which is made, with the weights of its linear\n"
        "layers in blocks of 32 elements that share a scale. Whatever takes MODEL takes OUT, too. Norms, biases,\n"
        "embeddings and weights that do not fit blocks stay as they are. No device is needed.\n"
        "\n"
        "  --type TYPE    q8: 8.5 bits to a weight (default); q4: 4.5 bits; same: the types of MODEL,\n"
        "                 to merge an adapter\n"
        "  --adapter DIR  merge the LoRA adapter in DIR, as PEFT saves it, into the weights first\n"
        "  --quiet        print errors alone: no warnings, and no progress\n"
        "  -h, --help     print this\n",
        stdout);
}

static bool take_type(const vkf_option *option, const char *value, void *user)
{
    static const char *const names[VKF_QUANTIZATION_COUNT] = {"same", "q8", "q4"};
    quantize_options *options = user;
    (void)option;
    for (int i = 0; i < VKF_QUANTIZATION_COUNT; i++)
        if (strcmp(value, names[i]) == 0) {
            options->quantization = (vkf_quantization)i;
            return true;
        }
    vkf_print_error("--type: '%.200s' is not q8, q4 or same", value);
    return false;
}

static const vkf_option own[] = {
    {.name = "type", .take = take_type},
    VKF_OPTION(quantize_options, "adapter", PATH, adapter),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    quantize_options *options = user;
    if (argc - optind != 2) {
        vkf_print_error("quantize takes a model directory and one to write, not %d; see vkformer quantize --help",
                        argc - optind);
        return false;
    }
    options->directory = argv[optind];
    options->out_directory = argv[optind + 1];
    return true;
}

static bool quantize(const quantize_options *options)
{
    const bool same = options->quantization == VKF_QUANTIZATION_NONE;
    vkf_progress progress = vkf_progress_start(same ? "merging" : "quantising");
    const vkf_quantize_desc desc = {
        .directory = options->directory,
        .adapter_directory = options->adapter,
        .out_directory = options->out_directory,
        .quantization = options->quantization,
        .progress = vkf_progress_show,
        .progress_user = &progress,
        .message = vkf_print_message,
        .min_severity = VKF_SEVERITY_WARNING,
    };
    vkf_quantize_result result;
    const vkf_status status = vkf_quantize(&desc, &result);
    vkf_progress_end(&progress);
    if (status != VKF_OK)
        return false;
    if (same)
        vkf_print("%s: %" PRIu64 " tensors\n", options->out_directory, result.tensor_count);
    else
        vkf_print("%s: %" PRIu64 " of %" PRIu64 " tensors in blocks, %s\n", options->out_directory, result.block_count,
                  result.tensor_count,
                  vkf_dtype_name(options->quantization == VKF_QUANTIZATION_Q4 ? VKF_DTYPE_Q4 : VKF_DTYPE_Q8));
    return true;
}

static int run(void *user)
{
    quantize_options *options = user;
    return vkf_find_adapted(&options->directory, &options->adapter) && quantize(options) ? VKF_EXIT_DONE
                                                                                         : VKF_EXIT_FAILED;
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_quantize(int argc, char **argv)
{
    quantize_options options = {.quantization = VKF_QUANTIZATION_Q8};
    return vkf_command_run(&command, argc, argv, &options, NULL);
}
