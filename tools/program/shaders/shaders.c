// vkformer shaders: lists every kernel variant that a device can use, which problems it serves by default, and what the
// driver's compiler made of it. It does the same for a shader of the user's, and compares two such lists.
#include <stdio.h>

#include "command/command.h"
#include "shaders/loop_file.h"
#include "shaders/shader_diff.h"
#include "shaders/shader_file.h"
#include "shaders/shader_output.h"

#define DEFAULT_FAIL_ABOVE 20

typedef struct shaders_options {
    vkf_common_options common;
    vkf_shader_output output;
    vkf_shader_file file; // path is NULL for the library's own kernels
    bool diff;
    float fail_above; // percent; negative: not given
    const char *chip; // NULL: by the device's name
    uint32_t waves;   // of assembly files; 0: not given
    char **arguments; // prefixes of "kernel/config", a file, or two files to compare
    size_t argument_count;
} shaders_options;

enum {
    OPT_STATISTICS = VKF_OPT_OWN,
    OPT_ALL,
    OPT_DEFAULTS,
    OPT_ASM,
    OPT_LOOPS,
    OPT_CHIP,
    OPT_WAVES,
    OPT_SPEC,
    OPT_DIFF,
    OPT_FAIL_ABOVE,
    OPT_OUTPUT = 'o',
    OPT_DEFINE = 'D'
};

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer shaders [--all | --defaults] [--statistics] [--asm] [--loops] [-o FORM] [NAME...]\n"
        "       vkformer shaders FILE [-D NAME[=VALUE]]... [--spec ID=VALUE]... [--asm] [-o FORM]\n"
        "       vkformer shaders --loops FILE.asm... [--chip CHIP] [--waves N] [-o FORM]\n"
        "       vkformer shaders --diff BEFORE.json AFTER.json [--fail-above PERCENT] [-o FORM]\n"
        "\n"
        "Lists every kernel with every choice of its tile parameters that the device can use, the size of its SPIR-V\n"
        "in bytes, and the problems for which it is taken as long as nothing was measured; those with (f16) only\n"
        "where a context may round float32 factors to 16 bits, those with (f16-sums) where it may round sums, too.\n"
        "NAME is the beginning of one: gemm_tile, or gemm_tile.f32_f32_f32/small. Attention is listed once for each\n"
        "of the usual sizes of a head.\n"
        "\n"
        "FILE is a compute shader of yours: GLSL (.comp, .glsl; in builds with VKF_RUNTIME_GLSL) or SPIR-V (.spv). It\n"
        "is compiled and a pipeline made of it, with the layout that it declares; nothing is run. Files that it\n"
        "includes are found beside it.\n"
        "\n"
        "  --all                those too that the device cannot use, and why not\n"
        "  --defaults           those alone that are taken for some of these problems; no other is compiled\n"
        "  --statistics         compile each one, and show what the driver's compiler tells, under the same names\n"
        "                       for every driver: 32-bit registers per invocation; values spilled to memory, and\n"
        "                       (after a +) to registers of another kind; scratch memory per invocation and shared\n"
        "                       memory per workgroup in bytes; instructions; subgroups that a unit of the device\n"
        "                       holds at a time. A - is what the driver does not tell\n"
        "  --asm                the same, and below each one its assembly and whatever else the driver gives of how\n"
        "                       it compiled\n",
        stdout);
    fputs(
        "  --loops              compile each one, and show what one turn of its hot loop does: matrix operations and\n"
        "                       multiply-adds; bytes per load, and loads under way before the first is waited for;\n"
        "                       loads from shared memory, their width, and its bytes per multiply-add; barriers and\n"
        "                       other instructions; the share of its roof that the loop can reach, and what binds it.\n"
        "                       The same of assemblies that were saved as FILE.asm (RADV's, NAK's, ir3's,\n"
        "                       Valhall's)\n"
        "  --chip CHIP          whose rates --loops judges by, as tools/vendors names it (navi31); otherwise the\n"
        "                       device's, by its name. A name that is unknown lists them with their sources\n"
        "  --waves N            of FILE.asm: how many subgroups a unit of the chip holds, as --statistics has it\n"
        "  -D NAME[=VALUE]      defines a macro in FILE; repeatable\n"
        "  --spec ID=VALUE      sets a specialisation constant of FILE; repeatable. VALUE may begin with its type,\n"
        "                       i: u: f: or b:, which must then be the shader's\n"
        "  --diff               compare two outputs of -o json or jsonl: what rose and fell, what is new or missing\n"
        "  --fail-above PERCENT by how much registers or instructions may rise before --diff gives exit code 3, 20\n"
        "                       by default\n"
        "  -o, --output FORM    table (default), json (one array) or jsonl (an object per line), both with the\n"
        "                       driver's own names and figures beside, or md\n"
        "\n"
        "Exit code 1 also means that a kernel did not compile; 3 that of those in both files of --diff one spills\n"
        "newly, compiles no longer, or rose above --fail-above.\n"
        "\n" VKF_COMMON_HELP,
        stdout);
}

static bool add_to(const char *option, const char *text, const char **list, size_t *count)
{
    if (*count == VKF_SHADER_FILE_MAX) {
        vkf_print_error("%s: given more than %d times", option, VKF_SHADER_FILE_MAX);
        return false;
    }
    list[(*count)++] = text;
    return true;
}

static bool take_option(int option, const char *value, void *user)
{
    shaders_options *options = user;
    switch (option) {
    case OPT_ASM:
        options->output.assembly = options->common.representations = true;
        return true;
    case OPT_LOOPS:
        options->output.loops = options->common.representations = true;
        return true;
    case OPT_CHIP:
        options->chip = value;
        return true;
    case OPT_WAVES:
        return vkf_parse_u32("--waves", value, 1, 1024, &options->waves);
    case OPT_STATISTICS:
        options->output.statistics = true;
        return true;
    case OPT_ALL:
        options->output.all = true;
        return true;
    case OPT_DEFAULTS:
        options->output.defaults = true;
        return true;
    case OPT_DIFF:
        options->diff = true;
        return true;
    case OPT_FAIL_ABOVE:
        return vkf_parse_float("--fail-above", value, 0, 1e6F, &options->fail_above);
    case OPT_SPEC:
        return add_to("--spec", value, options->file.spec, &options->file.spec_count);
    case OPT_DEFINE:
        return add_to("-D", value, options->file.defines, &options->file.define_count);
    case OPT_OUTPUT:
        return vkf_shader_parse_form(value, &options->output.form);
    default:
        return vkf_parse_common(option, value, &options->common);
    }
}

static size_t count_assemblies(const shaders_options *options)
{
    size_t count = 0;
    for (size_t i = 0; i < options->argument_count; i++)
        count += vkf_is_assembly_file(options->arguments[i]);
    return count;
}

// Checks what belongs to --loops, and finds the chip. False with a message.
static bool check_loops(shaders_options *options)
{
    const size_t assemblies = options->diff ? 0 : count_assemblies(options);
    const bool loops = options->output.loops;
    if (loops && options->diff) {
        vkf_print_error("--diff: it does not go with --loops");
        return false;
    }
    if (!loops && (options->chip || options->waves > 0 || assemblies > 0)) {
        vkf_print_error("--chip, --waves and files that end in .asm: they belong to --loops");
        return false;
    }
    if (assemblies > 0 && assemblies < options->argument_count) {
        vkf_print_error("--loops: give files that end in .asm and nothing else, or names of kernels");
        return false;
    }
    if (options->waves > 0 && assemblies == 0) {
        vkf_print_error("--waves: it belongs to files that end in .asm; of kernels the driver tells it");
        return false;
    }
    options->output.rates = options->chip ? chip_rates_find(options->chip, NULL) : NULL;
    if (!options->chip || options->output.rates)
        return true;
    vkf_print_error("--chip: nothing is known of '%.200s', but of", options->chip);
    chip_rates_list();
    return false;
}

// Checks that the options fit together. False with a message.
static bool check(shaders_options *options)
{
    const bool of_a_file = options->file.define_count > 0 || options->file.spec_count > 0;
    for (size_t i = 0; i < options->argument_count && !options->diff; i++) {
        if (vkf_is_shader_file(options->arguments[i]))
            options->file.path = options->arguments[i];
    }
    if (options->diff && options->argument_count != 2) {
        vkf_print_error("--diff: give two files, before and after");
        return false;
    }
    if (options->output.defaults && (options->output.all || options->file.path || options->diff)) {
        vkf_print_error("--defaults: it is for the library's kernels, and goes with neither --all nor --diff");
        return false;
    }
    if (options->diff && (of_a_file || options->output.assembly || options->output.statistics || options->output.all)) {
        vkf_print_error("--diff: it compares files, and takes --fail-above and --output alone");
        return false;
    }
    if (!options->diff && options->fail_above >= 0) {
        vkf_print_error("--fail-above: it belongs to --diff");
        return false;
    }
    if (options->file.path && options->argument_count > 1) {
        vkf_print_error("give one shader and nothing else, or names of kernels");
        return false;
    }
    if (!options->file.path && of_a_file) {
        vkf_print_error("-D, --spec: they belong to a shader of yours, a file that ends in .comp, .glsl or .spv");
        return false;
    }
    return true;
}

static const struct option long_options[] = {
    {"all", no_argument, NULL, OPT_ALL},
    {"defaults", no_argument, NULL, OPT_DEFAULTS},
    {"statistics", no_argument, NULL, OPT_STATISTICS},
    {"asm", no_argument, NULL, OPT_ASM},
    {"loops", no_argument, NULL, OPT_LOOPS},
    {"chip", required_argument, NULL, OPT_CHIP},
    {"waves", required_argument, NULL, OPT_WAVES},
    {"spec", required_argument, NULL, OPT_SPEC},
    {"diff", no_argument, NULL, OPT_DIFF},
    {"fail-above", required_argument, NULL, OPT_FAIL_ABOVE},
    {"output", required_argument, NULL, OPT_OUTPUT},
    VKF_COMMON_LONG_OPTIONS,
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    shaders_options *options = user;
    options->arguments = argv + optind;
    options->argument_count = (size_t)(argc - optind);
    if (!check(options) || !check_loops(options))
        return false;
    options->output.statistics |= options->output.assembly || options->output.loops || options->file.path != NULL;
    options->common.statistics = options->output.statistics;
    return true;
}

static vkf_kernel_compile compile_which(const vkf_shader_output *output)
{
    if (!output->statistics)
        return VKF_COMPILE_NONE;
    return output->defaults ? VKF_COMPILE_DEFAULTS : VKF_COMPILE_ALL;
}

static int list_kernels(const shaders_options *options, vkf_shader_output *output)
{
    vkf_context *context = NULL;
    if (vkf_open_context(&options->common, &context) != VKF_OK)
        return VKF_EXIT_FAILED;
    vkf_shader_output_begin(output, context);
    vkf_status status = VKF_OK;
    const size_t visits = options->argument_count > 0 ? options->argument_count : 1;
    for (size_t i = 0; i < visits && status == VKF_OK; i++)
        status = vkf_context_report_kernels(context, options->argument_count > 0 ? options->arguments[i] : NULL,
                                            compile_which(output), vkf_shader_output_visit, output);
    vkf_context_destroy(&context);
    const bool printed = output->printed;
    const bool good = vkf_shader_output_end(output);
    if (status != VKF_OK && printed)
        vkf_print_error("the list ends early: %s", vkf_status_text(status));
    if (status == VKF_OK && output->listed == 0)
        vkf_print_error(output->defaults ? "no kernel of that name is taken by default on this device"
                                         : "no kernel of that name can be used on this device");
    return status == VKF_OK && output->listed > 0 && good ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int run(void *user)
{
    shaders_options *options = user;
    if (options->diff)
        return vkf_print_shader_diff(options->arguments[0], options->arguments[1],
                                     options->fail_above >= 0 ? (double)options->fail_above : DEFAULT_FAIL_ABOVE,
                                     options->output.form);
    if (count_assemblies(options) > 0)
        return vkf_report_assembly_files(options->arguments, options->argument_count, options->output.rates,
                                         options->waves > 0 ? (int64_t)options->waves : -1, options->output.form);
    if (options->file.path)
        return vkf_report_shader_file(&options->common, &options->file, &options->output);
    return list_kernels(options, &options->output);
}

static const vkf_command command = {long_options, "o:D:", take_option, take_arguments, print_help, run};

int vkf_cmd_shaders(int argc, char **argv)
{
    shaders_options options = {.fail_above = -1};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
