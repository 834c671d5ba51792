// write_modules DIRECTORY: the modules that an Apple M2 is given, and those that it would be given if it had buffer
// addresses and subgroups of another size, as other Metal devices have. For test_msl: a file <module>.<number>.spv for
// each set of values that the registry gives their specialisation constants, which the file has as their defaults.
// Prints why the other modules are left out, and counts.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "kernel/shader_table.h"
#include "kernel/spirv_rounding.h"
#include "op/operators.h"
#include "plan/plan_chip.h"
#include "vk/driver_faults.h"

enum {
    MAX_FILES = 4096,
    HEADER_WORDS = 5,
    OP_SPEC_CONSTANT = 50,
    OP_DECORATE = 71,
    DECORATION_SPEC_ID = 1,
};

// One file that was written.
typedef struct written {
    const vkf__shader *shader;
    uint32_t spec[VKF_KERNEL_MAX_SPEC];
} written;

typedef struct writer {
    const char *directory;
    const vkf__host *host;
    vkf__caps caps;
    written files[MAX_FILES];
    uint32_t count;
} writer;

// Whether the file is there already, because rows share modules. *out_number: how many the module has.
static bool is_written(const writer *w, const written *file, uint32_t *out_number)
{
    *out_number = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->files[i].shader != file->shader)
            continue;
        if (memcmp(w->files[i].spec, file->spec, sizeof file->spec) == 0)
            return true;
        ++*out_number;
    }
    return false;
}

static void set_default(uint32_t *words, size_t count, uint32_t id, uint32_t value)
{
    for (size_t i = HEADER_WORDS; i < count; i += words[i] >> 16) {
        if (words[i] == (4U << 16 | OP_SPEC_CONSTANT) && words[i + 2] == id)
            words[i + 3] = value;
    }
}

static void set_defaults(uint32_t *words, size_t count, const uint32_t *spec)
{
    const uint32_t decorate = 4U << 16 | OP_DECORATE;
    for (size_t i = HEADER_WORDS; i < count; i += words[i] >> 16) {
        if (words[i] == decorate && words[i + 2] == DECORATION_SPEC_ID && words[i + 3] < VKF_KERNEL_MAX_SPEC)
            set_default(words, count, words[i + 1], spec[words[i + 3]]);
    }
}

static bool write_file(const writer *w, const written *file, uint32_t number)
{
    char path[512];
    uint32_t *words = NULL;
    size_t size_bytes = (size_t)4 * file->shader->word_count;
    vkf_status status = vkf__shader_words(w->host, file->shader, &words);
    if (status == VKF_OK && w->caps.round_to_even_16)
        status = vkf__spirv_round_to_even(w->host, w->caps.rounds_all_widths, &words, &size_bytes);
    if (status == VKF_OK)
        set_defaults(words, size_bytes / 4, file->spec);
    (void)snprintf(path, sizeof path, "%s/%s.%" PRIu32 ".spv", w->directory, file->shader->name, number);
    FILE *out = status == VKF_OK ? fopen(path, "wb") : NULL;
    bool good = out && fwrite(words, 1, size_bytes, out) == size_bytes;
    good = out && fclose(out) == 0 && good;
    vkf__free(w->host, words);
    if (!good)
        (void)fprintf(stderr, "%s cannot be written\n", path);
    return good;
}

static bool write_variant(writer *w, const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim)
{
    uint32_t flags[VKF_KERNEL_MAX_SPEC], number;
    written *file = &w->files[w->count];
    *file = (written){.shader = vkf__shader_find(vkf__kernel_module(kernel))};
    vkf__typical_flags(kernel, config, head_dim, flags);
    vkf__variant_spec(&w->caps, &(vkf__variant){kernel, config}, flags, file->spec);
    if (!file->shader || is_written(w, file, &number))
        return file->shader != NULL;
    bool good = write_file(w, file, number);
    w->count++;
    return good && w->count < MAX_FILES;
}

static bool is_supported(writer *w, const vkf__kernel *kernel, const vkf__config *config, const char **out_why)
{
    const uint32_t subgroup_size = w->caps.subgroup_size;
    if (kernel->subgroup_size)
        w->caps.subgroup_size = kernel->subgroup_size(config);
    bool supported = vkf__kernel_supported(&w->caps, kernel, config, out_why);
    w->caps.subgroup_size = subgroup_size;
    return supported;
}

// Whether the variant takes heads of this width, whole or in parts.
static bool takes_heads(const writer *w, const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim)
{
    vkf__problem problem = {.m = 1,
                            .n = 1,
                            .k = head_dim,
                            .offers = VKF_FORM_QUADS | VKF_FORM_VECTORS,
                            .precision = VKF_PRECISION_F16_SUMS};
    bool whole = vkf__kernel_takes(&w->caps, kernel, config, &problem);
    problem.wants = VKF_FORM_SPLIT;
    return whole || vkf__kernel_takes(&w->caps, kernel, config, &problem);
}

static bool write_config(writer *w, const vkf__kernel *kernel, const vkf__config *config)
{
    bool good = true;
    if (!is_supported(w, kernel, config, NULL))
        return true;
    if (!vkf__operator(kernel->op)->per_head_dim)
        return write_variant(w, kernel, config, 0);
    for (uint32_t i = 0; i < VKF_TYPICAL_HEAD_DIMS && good; i++) {
        if (takes_heads(w, kernel, config, vkf__typical_head_dims[i]))
            good = write_variant(w, kernel, config, vkf__typical_head_dims[i]);
    }
    return good;
}

// Why the device takes no row of the module; NULL: it takes one. `*out_meant`: all rows need cooperative matrices, or
// are known not to work there.
static const char *why_left_out(writer *w, const vkf__shader *shader, bool *out_meant)
{
    const char *why = "no row of the registry has it";
    vkf__kernel_walk walk = {0};
    *out_meant = true;
    for (const vkf__kernel *kernel; (kernel = vkf__kernel_next(&walk)) != NULL;) {
        if (vkf__shader_find(vkf__kernel_module(kernel)) != shader)
            continue;
        *out_meant = *out_meant && ((kernel->needs & VKF_NEEDS_MATRIX) != 0 ||
                                    vkf__driver_fault_of_kernel(&w->caps, kernel->name) != NULL);
        for (uint32_t c = 0; c < kernel->config_count; c++) {
            if (is_supported(w, kernel, &kernel->configs[c], &why))
                return NULL;
        }
    }
    return why;
}

// False when a module is left out for another reason than those: then this test would look past it.
static bool count_modules(writer *w)
{
    uint32_t taken = 0, left_out = 0;
    bool good = true;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        bool meant = false;
        const char *why = why_left_out(w, &vkf__shaders[i], &meant);
        taken += why == NULL;
        left_out += why && meant;
        if (why)
            printf("%s %s: %s\n", meant ? "left out" : "FAIL left out", vkf__shaders[i].name, why);
        good = good && (!why || meant);
    }
    printf("%" PRIu32 " modules with %" PRIu32 " sets of values, %" PRIu32 " left out that no such device takes\n",
           taken, w->count, left_out);
    return good && taken > 0;
}

int main(int argc, char **argv)
{
    static writer w;
    vkf_plan_chip chip = {0};
    vkf_context *context = NULL;
    if (argc != 2 || !vkf_plan_chip_open("m2", &chip))
        return EXIT_FAILURE;
    bool good = vkf_context_create(&(vkf_context_desc){.described = chip.device}, &context) == VKF_OK;
    if (good) {
        w = (writer){.directory = argv[1], .host = &context->host, .caps = context->device.plan.caps};
        w.caps.buffer_device_address = true;
    }
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel; good && (kernel = vkf__kernel_next(&walk)) != NULL;) {
        for (uint32_t c = 0; good && c < kernel->config_count; c++)
            good = write_config(&w, kernel, &kernel->configs[c]);
    }
    good = good && count_modules(&w);
    vkf_context_destroy(&context);
    vkf_plan_chip_free(&chip);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
