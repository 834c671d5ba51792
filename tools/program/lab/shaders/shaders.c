// vkformer shaders: lists every kernel variant that a device can use, which problems it serves by default, and what the
// driver's compiler made of it. It does the same for a shader of the user's, and compares two such lists.
#include <stdio.h>

#include "command/command.h"
#include "command/described_device.h"
#include "command/session_context.h"
#include "lab/shaders/ladder_output.h"
#include "lab/shaders/loop_file.h"
#include "lab/shaders/shader_diff.h"
#include "lab/shaders/shader_file.h"
#include "lab/shaders/shader_output.h"

#define DEFAULT_FAIL_ABOVE 20

typedef struct shaders_options {
    vkf_common_options common;
    vkf_shader_output output;
    vkf_shader_file file; // path is NULL for the library's own kernels
    bool diff;
    const char *why; // a problem as text; NULL: not asked for
    vkf_ladder_shape ladder;
    float fail_above; // percent; negative: not given
    const char *chip; // NULL: by the device's name
    uint32_t waves;   // of assembly files; 0: not given
    char **arguments; // prefixes of "kernel/config", a file, or two files to compare
    size_t argument_count;
} shaders_options;

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer shaders [--all | --defaults] [--statistics] [--asm] [--loops] [-o FORM] [NAME...]\n"
        "       vkformer shaders FILE [-D NAME[=VALUE]]... [--spec ID=VALUE]... [--asm] [-o FORM]\n"
        "       vkformer shaders --loops FILE.asm... [--chip CHIP] [--waves N] [-o FORM]\n"
        "       vkformer shaders --diff BEFORE.json AFTER.json [--fail-above PERCENT] [-o FORM]\n"
        "       vkformer shaders --why PROBLEM [--chip CHIP] [-o FORM]\n"
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
        "  --why PROBLEM        in which order the device's kernels are taken for a problem as long as nothing was\n"
        "                       measured, and why each is taken or is not. PROBLEM is OPERATOR.TYPES/MxNxK, as in\n"
        "                       gemm.f32_f16_f32/512x4096x4096 (rows, columns, depth; for attention queries, keys,\n"
        "                       width of a head), and behind commas: kn, nk or panels (how b lies), f16 or f16-sums\n"
        "                       (what may be rounded), a-transposed, split, gated, normed, joined, fresh, biased.\n"
        "                       With --chip for a chip as `vkformer plan` names it, which need not be there\n"
        "  -o, --output FORM    table (default), json (one array) or jsonl (an object per line), both with the\n"
        "                       driver's own names and figures beside, csv or md\n"
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

static bool take_spec(const vkf_option *option, const char *value, void *user)
{
    shaders_options *options = user;
    (void)option;
    return add_to("--spec", value, options->file.spec, &options->file.spec_count);
}

static bool take_define(const vkf_option *option, const char *value, void *user)
{
    shaders_options *options = user;
    (void)option;
    return add_to("-D", value, options->file.defines, &options->file.define_count);
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
    if (options->why)
        return true;
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
    if (options->why &&
        (options->argument_count > 0 || options->diff || options->output.all || options->output.defaults ||
         options->output.statistics || options->output.assembly || options->output.loops || of_a_file)) {
        vkf_print_error("--why: it takes a problem, and goes with --chip and --output alone");
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

static const vkf_option own[] = {
    VKF_OPTION(shaders_options, "all", FLAG, output.all),
    VKF_OPTION(shaders_options, "defaults", FLAG, output.defaults),
    VKF_OPTION(shaders_options, "statistics", FLAG, output.statistics),
    VKF_OPTION_BESIDE(shaders_options, "asm", FLAG, output.assembly, 0, 0, common.representations),
    VKF_OPTION_BESIDE(shaders_options, "loops", FLAG, output.loops, 0, 0, common.representations),
    VKF_OPTION(shaders_options, "chip", TEXT, chip),
    VKF_OPTION_WITHIN(shaders_options, "waves", U32, waves, 1, 1024),
    {.name = "spec", .take = take_spec},
    {.letter = 'D', .take = take_define},
    VKF_OPTION(shaders_options, "diff", FLAG, diff),
    VKF_OPTION(shaders_options, "why", TEXT, why),
    VKF_OPTION_WITHIN(shaders_options, "fail-above", FLOAT, fail_above, 0, 1e6F),
    VKF_OPTION_ROWS(shaders_options, output.rows.format),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    shaders_options *options = user;
    options->arguments = argv + optind;
    options->argument_count = (size_t)(argc - optind);
    if (!check(options) || !check_loops(options) ||
        (options->why && !vkf_parse_ladder_shape("--why", options->why, &options->ladder)))
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

// A context of the device, or of the chip that is named, which need not be there.
static bool open_to_explain(const shaders_options *options, vkf_context **out_context)
{
    vkf_context_desc desc = vkf_common_context_desc(&options->common);
    vkf_device_description *chip = NULL;
    json_t *root = NULL;
    if (!options->chip)
        return vkf_open_context(&options->common, out_context) == VKF_OK;
    bool opened = vkf_open_chip(options->chip, &chip, &root);
    desc.described = chip;
    opened = opened && vkf_context_create(&desc, out_context) == VKF_OK;
    vkf_device_description_destroy(&chip);
    json_decref(root);
    return opened;
}

static int explain(const shaders_options *options)
{
    vkf_context *context = NULL;
    const bool taken =
        open_to_explain(options, &context) && vkf_print_ladder(context, &options->ladder, options->output.rows.format);
    vkf_context_destroy(&context);
    return taken ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int run(void *user)
{
    shaders_options *options = user;
    if (options->why)
        return explain(options);
    if (options->diff)
        return vkf_print_shader_diff(options->arguments[0], options->arguments[1],
                                     options->fail_above >= 0 ? (double)options->fail_above : DEFAULT_FAIL_ABOVE,
                                     options->output.rows.format);
    if (count_assemblies(options) > 0)
        return vkf_report_assembly_files(options->arguments, options->argument_count, options->output.rates,
                                         options->waves > 0 ? (int64_t)options->waves : -1,
                                         options->output.rows.format);
    if (options->file.path)
        return vkf_report_shader_file(&options->common, &options->file, &options->output);
    return list_kernels(options, &options->output);
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_shaders(int argc, char **argv)
{
    shaders_options options = {.fail_above = -1};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
