// vkformer info: lists every device, what it can do, and which kernels it would use.
#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "command/session_context.h"
#include "command/shape_list.h"
#include "info/verdict_list.h"
#include "measure/device_counters.h"
#include "output/json_output.h"
#include "output/size_text.h"
#include "output/visible_text.h"

typedef struct info_options {
    vkf_common_options common;
    bool json;
    bool kernels;
    bool forget;
    vkf_tune_problem problem; // given by --shape and --types
} info_options;

typedef struct kernel_list {
    bool print; // as text, during the visit
    uint32_t usable;
    uint32_t unusable;
    json_t *lines; // NULL: no list is wanted
} kernel_list;

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer info [--json] [--counters] [--forget] [--kernels [--shape SHAPE] [--types A,B,C]]\n"
          "\n"
          "Lists every Vulkan device: name, driver, limits and memory as they are after --caps and --mask, and\n"
          "how many of the kernels it can take; and which of these were found wrong or slow there, when, and why.\n"
          "With --device, only the device of that choice.\n"
          "\n"
          "  --json             one JSON object per line and device\n"
          "  --counters         list what the device can count while a dispatch runs, for vkformer profile --counters\n"
          "  --forget           forget what was found out about kernels, so that each is tested again before its\n"
          "                     next use\n"
          "  --kernels          list every kernel, and why the device may use it or not; then, for a weight (N, K)\n"
          "                     and M rows, every variant, which one is chosen, and why\n"
          "  --shape MxNxK      that product (default: 128x768x768), or attention:HxLxD or attention:HxLxSxD: L\n"
          "                     queries, S keys, H heads of width D\n"
          "  --types A,B,C      storage types of x, the weight and the result; of attention, of the queries, of keys\n"
          "                     and values, and of the result (default: f32,f32,f32)\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

// Parses one shape into the sizes of the problem, whose types are already set.
static bool take_shape(const vkf_option *option, const char *text, void *options)
{
    vkf_tune_problem *inout_problem = &((info_options *)options)->problem;
    (void)option;
    vkf_shape_list list = {0};
    bool good = vkf_shape_list_parse("--shape", text, inout_problem, &list);
    if (good && list.count != 1) {
        vkf_print_error("--shape: '%.200s' is not one shape such as 128x768x768", text);
        good = false;
    }
    if (good)
        *inout_problem = list.items[0];
    vkf_shape_list_free(&list);
    return good;
}

static bool take_types(const vkf_option *option, const char *text, void *options)
{
    (void)option;
    return vkf_parse_types("--types", text, &((info_options *)options)->problem);
}

static bool take_counters(const vkf_option *option, const char *value, void *options)
{
    (void)option;
    (void)value;
    ((info_options *)options)->common.counters = "all";
    return true;
}

static const vkf_option own[] = {
    VKF_OPTION(info_options, "json", FLAG, json),
    VKF_OPTION(info_options, "kernels", FLAG, kernels),
    {.name = "counters", .take = take_counters, .kind = VKF_OPTION_SWITCH},
    VKF_OPTION(info_options, "forget", FLAG, forget),
    {.name = "shape", .take = take_shape},
    {.name = "types", .take = take_types},
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    const info_options *options = user;
    if (optind < argc)
        vkf_print_error("'%.200s': info takes no arguments", argv[optind]);
    else if (options->forget && options->common.no_cache)
        vkf_print_error("--forget: what was found out is in the cache; leave --no-cache out");
    return optind >= argc && !(options->forget && options->common.no_cache);
}

static const char *type_name(vkf_device_type type)
{
    switch (type) {
    case VKF_DEVICE_TYPE_INTEGRATED:
        return "integrated";
    case VKF_DEVICE_TYPE_DISCRETE:
        return "discrete";
    case VKF_DEVICE_TYPE_VIRTUAL:
        return "virtual";
    case VKF_DEVICE_TYPE_CPU:
        return "cpu";
    case VKF_DEVICE_TYPE_OTHER:
        break;
    }
    return "other";
}

static void format_uuid(const uint8_t uuid[VKF_UUID_SIZE], char out_text[2 * VKF_UUID_SIZE + 1])
{
    for (size_t i = 0; i < VKF_UUID_SIZE; i++)
        snprintf(out_text + 2 * i, 3, "%02x", uuid[i]);
}

// Vulkan packs variant (3 bits), major (7), minor (10) and patch (12).
static void format_api_version(uint32_t version, char out_text[32])
{
    snprintf(out_text, 32, "%u.%u.%u", version >> 22 & 0x7f, version >> 12 & 0x3ff, version & 0xfff);
}

static void print_device(const vkf_device_info *info)
{
    char uuid[2 * VKF_UUID_SIZE + 1], version[32], shared[32], range[32];
    format_uuid(info->uuid, uuid);
    format_api_version(info->api_version, version);
    vkf_size_text(info->max_shared_memory_bytes, shared);
    vkf_size_text(info->max_storage_buffer_range_bytes, range);
    vkf_print("device %u: %s\n", info->index, info->name);
    vkf_print("  type             %s\n", type_name(info->type));
    vkf_print("  driver           %s%s%s\n", info->driver_name, info->driver_info[0] ? ", " : "", info->driver_info);
    vkf_print("  Vulkan           %s\n", version);
    vkf_print("  uuid             %s\n", uuid);
    printf("  subgroup         %u\n", info->subgroup_size);
    vkf_print("  workgroup        %u invocations, %s shared memory\n", info->max_workgroup_invocations, shared);
    vkf_print("  storage buffers  %u, of up to %s\n", info->max_storage_buffers, range);
    printf("  push constants   %u B\n", info->max_push_constant_bytes);
    vkf_print("  16-bit storage   %s\n", info->storage_16bit ? "yes" : "no");
    vkf_print("  fp16 arithmetic  %s\n", info->shader_float16 ? "yes" : "no");
    vkf_print("  timestamps       %s\n", info->timestamps ? "yes" : "no");
    for (uint32_t i = 0; i < info->heap_count && i < VKF_MAX_MEMORY_HEAPS; i++) {
        char size[32];
        vkf_size_text(info->heap_size_bytes[i], size);
        vkf_print("  heap %-2u          %s, %s%s\n", i, size, info->heap_device_local[i] ? "device" : "host",
                  info->unified_memory ? ", unified" : "");
    }
}

static json_t *heaps_json(const vkf_device_info *info)
{
    json_t *heaps = json_array();
    for (uint32_t i = 0; i < info->heap_count && i < VKF_MAX_MEMORY_HEAPS; i++) {
        json_t *heap = json_object();
        vkf_json_put_integer(heap, "bytes", info->heap_size_bytes[i]);
        json_object_set_new(heap, "device_local", json_boolean(info->heap_device_local[i]));
        json_array_append_new(heaps, heap);
    }
    return heaps;
}

static json_t *device_json(const vkf_device_info *info)
{
    char uuid[2 * VKF_UUID_SIZE + 1], driver_uuid[2 * VKF_UUID_SIZE + 1], version[32];
    format_uuid(info->uuid, uuid);
    format_uuid(info->driver_uuid, driver_uuid);
    format_api_version(info->api_version, version);
    json_t *device = json_object();
    vkf_json_put_integer(device, "index", info->index);
    vkf_json_put_string(device, "name", info->name);
    vkf_json_put_string(device, "type", type_name(info->type));
    vkf_json_put_string(device, "driver", info->driver_name);
    vkf_json_put_string(device, "driver_info", info->driver_info);
    vkf_json_put_string(device, "api_version", version);
    vkf_json_put_integer(device, "driver_version", info->driver_version);
    vkf_json_put_integer(device, "vendor_id", info->vendor_id);
    vkf_json_put_integer(device, "device_id", info->device_id);
    vkf_json_put_string(device, "uuid", uuid);
    vkf_json_put_string(device, "driver_uuid", driver_uuid);
    vkf_json_put_integer(device, "subgroup_size", info->subgroup_size);
    vkf_json_put_integer(device, "max_workgroup_invocations", info->max_workgroup_invocations);
    vkf_json_put_integer(device, "max_shared_memory_bytes", info->max_shared_memory_bytes);
    vkf_json_put_integer(device, "max_storage_buffers", info->max_storage_buffers);
    vkf_json_put_integer(device, "max_storage_buffer_range_bytes", info->max_storage_buffer_range_bytes);
    vkf_json_put_integer(device, "max_push_constant_bytes", info->max_push_constant_bytes);
    json_object_set_new(device, "storage_16bit", json_boolean(info->storage_16bit));
    json_object_set_new(device, "shader_float16", json_boolean(info->shader_float16));
    json_object_set_new(device, "timestamps", json_boolean(info->timestamps));
    json_object_set_new(device, "unified_memory", json_boolean(info->unified_memory));
    json_object_set_new(device, "heaps", heaps_json(info));
    return device;
}

static void visit_kernel(void *user, const char *kernel, bool usable, const char *why)
{
    kernel_list *list = user;
    if (usable)
        list->usable++;
    else
        list->unusable++;
    if (list->print)
        vkf_print("    %-4s %-32s %s\n", usable ? "yes" : "no", kernel, why ? why : "");
    if (list->lines) {
        json_t *line = json_object();
        vkf_json_put_string(line, "name", kernel);
        json_object_set_new(line, "usable", json_boolean(usable));
        vkf_json_put_string(line, "why", why ? why : "");
        json_array_append_new(list->lines, line);
    }
}

static void visit_choice(void *user, const vkf_choice *choice)
{
    (void)user;
    const char *mark = choice->wanted ? "**" : choice->chosen ? "*" : choice->usable ? "" : "-";
    vkf_print("    %-2s %-6s %-42s %s%s", mark, choice->layout == VKF_LAYOUT_PANELS ? "panels" : "rows",
              choice->variant, choice->why, choice->usable && !choice->tested ? ", not tested yet" : "");
    printf(" (about %u registers, %u B shared)\n", choice->registers, choice->shared_bytes);
}

static json_t *choice_json(const vkf_choice *choice)
{
    json_t *line = json_object();
    vkf_json_put_string(line, "variant", choice->variant);
    vkf_json_put_string(line, "layout", choice->layout == VKF_LAYOUT_PANELS ? "panels" : "rows");
    json_object_set_new(line, "chosen", json_boolean(choice->chosen));
    json_object_set_new(line, "wanted", json_boolean(choice->wanted));
    json_object_set_new(line, "usable", json_boolean(choice->usable));
    json_object_set_new(line, "tested", json_boolean(choice->tested));
    vkf_json_put_string(line, "why", choice->why);
    vkf_json_put_integer(line, "registers", choice->registers);
    vkf_json_put_integer(line, "shared_bytes", choice->shared_bytes);
    return line;
}

static void visit_choice_json(void *user, const vkf_choice *choice)
{
    json_array_append_new(user, choice_json(choice));
}

static void print_choices(vkf_context *context, const vkf_tune_problem *problem)
{
    const char *const types[] = {vkf_dtype_name(problem->x), vkf_dtype_name(problem->weight),
                                 vkf_dtype_name(problem->out)};
    if (problem->kind == VKF_TUNE_ATTENTION)
        vkf_print("  attention, %u heads of width %u, %u queries, %u keys, types %s,%s,%s: ** chosen\n", problem->heads,
                  problem->k, problem->m, problem->n, types[0], types[1], types[2]);
    else
        vkf_print("  x (%u, %u) times a weight (%u, %u), types %s,%s,%s: * chosen for its layout, ** in the layout "
                  "wanted\n",
                  problem->m, problem->k, problem->n, problem->k, types[0], types[1], types[2]);
    vkf_status status = vkf_tune_explain(context, problem, visit_choice, NULL);
    if (status != VKF_OK)
        vkf_print_error("the choice cannot be explained: %s", vkf_status_text(status));
}

static void print_as_text(const info_options *options, const vkf_device_info *info, vkf_context *context,
                          const char *why_not)
{
    print_device(info);
    if (!context) {
        vkf_print("  kernels          none, the device cannot be opened: %s\n", why_not);
        return;
    }
    kernel_list list = {0};
    vkf_context_visit_kernels(context, visit_kernel, &list);
    printf("  kernels          %u usable, %u not\n", list.usable, list.unusable);
    vkf_print_verdicts(context, options->kernels);
    if (options->common.counters) {
        const vkf_counter *counters;
        printf("  counters         %u\n", vkf_context_get_counters(context, &counters));
        vkf_print_counters(stdout, context);
    }
    list.print = options->kernels;
    if (list.print) {
        vkf_context_visit_kernels(context, visit_kernel, &list);
        print_choices(context, &options->problem);
    }
}

static json_t *counter_list(const vkf_context *context)
{
    const vkf_counter *counters;
    json_t *list = json_array();
    uint32_t count = vkf_context_get_counters(context, &counters);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, vkf_counter_json(&counters[i]));
    return list;
}

static bool print_as_json(const info_options *options, const vkf_device_info *info, vkf_context *context,
                          const char *why_not)
{
    json_t *device = device_json(info);
    json_object_set_new(device, "usable", json_boolean(context != NULL));
    if (!context) {
        vkf_json_put_string(device, "why", why_not);
        return vkf_print_json(device);
    }
    kernel_list list = {.lines = options->kernels ? json_array() : NULL};
    vkf_context_visit_kernels(context, visit_kernel, &list);
    vkf_json_put_integer(device, "kernels_usable", list.usable);
    vkf_json_put_integer(device, "kernels_unusable", list.unusable);
    if (list.lines) {
        json_t *choices = json_array();
        json_object_set_new(device, "kernels", list.lines);
        if (vkf_tune_explain(context, &options->problem, visit_choice_json, choices) != VKF_OK)
            json_array_clear(choices);
        json_object_set_new(device, "choices", choices);
    }
    json_object_set_new(device, "verdicts", vkf_verdicts_json(context));
    if (options->common.counters)
        json_object_set_new(device, "counters", counter_list(context));
    return vkf_print_json(device);
}

// *out_opened tells whether the device can be used; the result tells whether it could be shown.
static bool show_device(const info_options *options, const vkf_device_info *info, bool *out_opened)
{
    vkf_common_options one = options->common;
    one.device = (vkf_device_choice){.kind = VKF_CHOOSE_INDEX, .index = info->index};
    vkf_context *context = NULL;
    vkf_message_log_set_quiet(one.messages, true);
    vkf_status status = vkf_open_context(&one, &context);
    vkf_message_log_set_quiet(one.messages, false);
    if (status == VKF_OK && options->forget)
        status = vkf_context_forget_verdicts(context);
    const char *why_not = vkf_message_log_last_error(one.messages);
    if (why_not[0] == '\0')
        why_not = vkf_status_text(status);
    bool shown = true;
    if (options->json)
        shown = print_as_json(options, info, context, why_not);
    else
        print_as_text(options, info, context, why_not);
    *out_opened = context != NULL;
    vkf_context_destroy(&context);
    return shown;
}

static int show_chosen(const info_options *options)
{
    vkf_context *context = NULL;
    if (vkf_open_context(&options->common, &context) != VKF_OK)
        return VKF_EXIT_FAILED;
    vkf_device_info info;
    vkf_context_get_device_info(context, &info);
    vkf_context_destroy(&context);
    bool opened = false;
    return show_device(options, &info, &opened) && opened ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int show_all(const info_options *options)
{
    vkf_context_desc desc = vkf_common_context_desc(&options->common);
    vkf_device_info *infos = NULL;
    uint32_t count = 0;
    vkf_status status = vkf_enumerate_devices(&desc, &count, NULL);
    if (status == VKF_OK && count > 0) {
        infos = calloc(count, sizeof *infos);
        status = infos ? vkf_enumerate_devices(&desc, &count, infos) : VKF_ERROR_OUT_OF_HOST_MEMORY;
    } else if (status == VKF_OK) {
        status = VKF_ERROR_NO_DEVICE;
    }
    if (status != VKF_OK) {
        free(infos);
        vkf_print_error("the devices cannot be listed: %s", vkf_status_text(status));
        return VKF_EXIT_FAILED;
    }
    uint32_t opened_count = 0;
    bool shown = true;
    for (uint32_t i = 0; i < count && shown; i++) {
        bool opened = false;
        shown = show_device(options, &infos[i], &opened);
        opened_count += opened;
    }
    free(infos);
    if (opened_count == 0 && shown)
        vkf_print_error("none of the %u devices can be opened", count);
    return shown && opened_count > 0 ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int run(void *user)
{
    const info_options *options = user;
    return options->common.device_given ? show_chosen(options) : show_all(options);
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_info(int argc, char **argv)
{
    info_options options = {.problem = {.m = 128, .n = 768, .k = 768}};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
