// Parses the common options, and the values of options strictly.
#include "command/options.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/cache_dir.h"
#include "command/described_device.h"
#include "command/session_context.h"
#include "output/visible_text.h"

static const char *severity_name(vkf_severity severity)
{
    switch (severity) {
    case VKF_SEVERITY_DEBUG:
        return "debug";
    case VKF_SEVERITY_INFO:
        return "info";
    case VKF_SEVERITY_WARNING:
        return "warning";
    case VKF_SEVERITY_VALIDATION:
        return "validation";
    case VKF_SEVERITY_ERROR:
        break;
    }
    return "error";
}

static char rank_name[32]; // "rank 3: ", or nothing

void vkf_print_as_rank(uint32_t rank)
{
    snprintf(rank_name, sizeof rank_name, "rank %u: ", rank);
}

static bool quiet;

void vkf_be_quiet(void)
{
    quiet = true;
}

bool vkf_is_quiet(void)
{
    return quiet;
}

void vkf_print_message(void *user, vkf_severity severity, const char *message)
{
    (void)user;
    if (!quiet || severity >= VKF_SEVERITY_ERROR)
        vkf_print_on(stderr, "vkformer: %s: %s%s\n", severity_name(severity), rank_name, message);
}

static void print_formatted(vkf_severity severity, const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    vkf_print_message(NULL, severity, text);
}

void vkf_print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(VKF_SEVERITY_ERROR, format, args);
    va_end(args);
}

void vkf_print_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(VKF_SEVERITY_WARNING, format, args);
    va_end(args);
}

bool vkf_common_init(vkf_common_options *common)
{
    *common = (vkf_common_options){0};
    common->messages = vkf_message_log_create();
    common->cache = vkf_cache_dir_create();
    if (!common->messages || !common->cache) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    return true;
}

void vkf_common_free(vkf_common_options *common)
{
    vkf_device_description_destroy(&common->limits);
    vkf_message_log_destroy(&common->messages);
    vkf_cache_dir_destroy(&common->cache);
    free(common->masks);
    *common = (vkf_common_options){0};
}

bool vkf_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max, uint32_t *out_value)
{
    uint64_t value = 0;
    bool digits = *text != '\0';
    for (const char *c = text; *c && digits; c++) {
        digits = *c >= '0' && *c <= '9';
        if (digits && value <= UINT32_MAX)
            value = value * 10 + (uint64_t)(*c - '0');
    }
    if (!digits || value < min || value > max) {
        vkf_print_error("%s: '%.200s' is no whole number from %u to %u", option, text, min, max);
        return false;
    }
    *out_value = (uint32_t)value;
    return true;
}

// strtod() alone would skip leading blanks and accept hexadecimal numbers and "inf".
static bool parse_plain_number(const char *text, double *out_value)
{
    char *end = NULL;
    *out_value = strtod(text, &end);
    return *text && strspn(text, "+-.0123456789eE") == strlen(text) && *end == '\0' && isfinite(*out_value);
}

bool vkf_parse_double(const char *option, const char *text, double min, double max, double *out_value)
{
    double value;
    if (!parse_plain_number(text, &value) || value < min || value > max) {
        vkf_print_error("%s: '%.200s' is no number from %g to %g", option, text, min, max);
        return false;
    }
    *out_value = value;
    return true;
}

bool vkf_parse_float(const char *option, const char *text, float min, float max, float *out_value)
{
    double value;
    // Compares as floats, so that a bound itself is within the bounds: 0.1f is above 0.1.
    if (!parse_plain_number(text, &value) || fabs(value) > (double)FLT_MAX || (float)value < min ||
        (float)value > max) {
        vkf_print_error("%s: '%.200s' is no number from %g to %g", option, text, (double)min, (double)max);
        return false;
    }
    *out_value = (float)value;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// Reads 32 hexadecimal digits; dashes between them are skipped.
static bool parse_uuid(const char *text, uint8_t out_uuid[VKF_UUID_SIZE])
{
    size_t digits = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        int value = hex_digit(*text);
        if (value < 0 || digits == 2 * VKF_UUID_SIZE)
            return false;
        uint8_t *byte = &out_uuid[digits / 2];
        *byte = (uint8_t)(digits % 2 == 0 ? value << 4 : *byte | value);
        digits++;
    }
    return digits == 2 * VKF_UUID_SIZE;
}

// Whether the text is the name, which has small letters of ASCII alone, in any case.
static bool is_name(const char *text, const char *name)
{
    while (*name && (*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text) == *name) {
        text++;
        name++;
    }
    return *text == '\0' && *name == '\0';
}

static bool parse_device_type(const char *text, vkf_device_type *out_type)
{
    static const struct {
        const char *name;
        vkf_device_type type;
    } types[] = {
        {"discrete", VKF_DEVICE_TYPE_DISCRETE},
        {"integrated", VKF_DEVICE_TYPE_INTEGRATED},
        {"virtual", VKF_DEVICE_TYPE_VIRTUAL},
        {"cpu", VKF_DEVICE_TYPE_CPU},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (is_name(text, types[i].name)) {
            *out_type = types[i].type;
            return true;
        }
    }
    return false;
}

static bool take_device(const vkf_option *option, const char *text, void *common)
{
    (void)option;
    vkf_device_choice choice = {0};
    if (*text == '\0') {
        vkf_print_error("--device: the choice is empty; give an index, a part of a name, uuid:HEX, a type, best or "
                        "reference");
        return false;
    }
    if (isspace((unsigned char)text[0]) || isspace((unsigned char)text[strlen(text) - 1])) {
        vkf_print_error("--device: '%.200s' begins or ends with a blank: write it without", text);
        return false;
    }
    if (strspn(text, "0123456789") == strlen(text)) {
        choice.kind = VKF_CHOOSE_INDEX;
        if (!vkf_parse_u32("--device", text, 0, UINT32_MAX, &choice.index))
            return false;
    } else if (strncmp(text, "uuid:", 5) == 0) {
        choice.kind = VKF_CHOOSE_UUID;
        if (!parse_uuid(text + 5, choice.uuid)) {
            vkf_print_error("--device: '%.200s' has not 32 hexadecimal digits, which 'vkformer info' lists", text);
            return false;
        }
    } else if (strcmp(text, "reference") == 0) {
        choice.kind = VKF_CHOOSE_REFERENCE;
    } else if (parse_device_type(text, &choice.type)) {
        choice.kind = VKF_CHOOSE_TYPE;
    } else if (strcmp(text, "best") != 0) {
        choice.kind = VKF_CHOOSE_NAME;
        choice.name = text;
    }
    ((vkf_common_options *)common)->device = choice;
    return true;
}

static bool parse_profile(const char *text, vkf_caps_profile *out_profile)
{
    if (vkf_caps_profile_from_name(text, out_profile))
        return true;
    char names[256] = "";
    size_t length = 0;
    for (int p = 0; p < VKF_CAPS_PROFILE_COUNT && length < sizeof names; p++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", p ? ", " : "",
                                   vkf_caps_profile_name((vkf_caps_profile)p));
    vkf_print_error("--caps: there is no profile '%.200s'; there are %s, and files of the Vulkan Profiles schema", text,
                    names);
    return false;
}

static bool take_caps(const vkf_option *option, const char *text, void *user)
{
    vkf_common_options *common = user;
    (void)option;
    vkf_device_description_destroy(&common->limits);
    return vkf_names_description(text) ? vkf_open_description(text, &common->limits)
                                       : parse_profile(text, &common->profile);
}

static bool take_mask(const vkf_option *option, const char *text, void *user)
{
    vkf_common_options *common = user;
    (void)option;
    if (*text == '\0' || *text == '=') {
        vkf_print_error("--mask: '%.200s' names no feature or limit; write NAME or NAME=VALUE", text);
        return false;
    }
    const char **masks = realloc(common->masks, (common->mask_count + 1) * sizeof *masks);
    if (!masks) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    common->masks = masks;
    common->masks[common->mask_count++] = text;
    return true;
}

bool vkf_parse_path(const char *option, const char *text, const char **out_path)
{
    if (*text == '\0') {
        vkf_print_error("%s: the path is empty", option);
        return false;
    }
    *out_path = text;
    return true;
}

static bool take_variant(const vkf_option *option, const char *text, void *common)
{
    (void)option;
    if (*text == '\0') {
        vkf_print_error("--variant: the name is empty; 'vkformer shaders --all' lists those that there are");
        return false;
    }
    ((vkf_common_options *)common)->variant = text;
    return true;
}

const vkf_option vkf_common_rows[] = {
    {.name = "device", .take = take_device, .given = offsetof(vkf_common_options, device_given)},
    {.name = "caps", .take = take_caps},
    {.name = "mask", .take = take_mask},
    VKF_OPTION(vkf_common_options, "cache", PATH, cache_path),
    VKF_OPTION(vkf_common_options, "no-cache", FLAG, no_cache),
    VKF_OPTION(vkf_common_options, "validate", FLAG, validation),
    VKF_OPTION(vkf_common_options, "verbose", FLAG, verbose),
    VKF_OPTION(vkf_common_options, "debug", FLAG, debug),
    VKF_OPTION(vkf_common_options, "shader-dir", PATH, shader_dir),
    {.name = "variant", .take = take_variant},
    VKF_OPTION(vkf_common_options, "no-self-test", FLAG, no_self_test),
    VKF_OPTION(vkf_common_options, "tune", FLAG, tune),
    VKF_OPTION_OF(vkf_common_options, "arithmetic", arithmetic, "full|f16|f16-sums", "none of full, f16 and f16-sums"),
    {0},
};
