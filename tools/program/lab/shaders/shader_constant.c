// Parses values of specialisation constants by the type that the shader gives them.
#include "lab/shaders/shader_constant.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "command/options.h"

static const char *const type_names[] = {
    [SPIRV_BOOL] = "bool", [SPIRV_INT] = "int", [SPIRV_UINT] = "uint", [SPIRV_FLOAT] = "float"};

static const spirv_spec *find(const spirv_module *module, uint32_t id)
{
    for (size_t i = 0; i < module->spec_count; i++) {
        if (module->specs[i].id == id)
            return &module->specs[i];
    }
    return NULL;
}

static void say_which_there_are(const spirv_module *module, uint32_t id)
{
    char list[512] = "";
    size_t length = 0;
    for (size_t i = 0; i < module->spec_count && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%u (%s)", i ? ", " : "", module->specs[i].id,
                                   type_names[module->specs[i].type]);
    if (module->spec_count == 0)
        vkf_print_error("--spec: the shader has no specialisation constant %u, nor any other", id);
    else
        vkf_print_error("--spec: the shader has no specialisation constant %u; it has %s", id, list);
}

static bool parse_bool(const char *text, uint64_t *out_value)
{
    const bool yes = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
    *out_value = yes;
    return yes || strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

// Parses a whole number that the type can hold, in two's complement.
static bool parse_integer(const char *text, const spirv_spec *spec, uint64_t *out_value)
{
    const bool negative = text[0] == '-';
    const char *digits = text + negative;
    const bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    const char *allowed = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
    digits += hexadecimal ? 2 : 0;
    if (digits[0] == '\0' || strspn(digits, allowed) != strlen(digits))
        return false;
    errno = 0;
    const uint64_t magnitude = strtoull(digits, NULL, hexadecimal ? 16 : 10);
    const bool is_signed = spec->type == SPIRV_INT;
    const uint64_t most = UINT64_MAX >> (64 - spec->bits + is_signed);
    if (errno != 0 || (negative && !is_signed) || magnitude > most + (negative ? 1 : 0))
        return false;
    *out_value = negative ? 0 - magnitude : magnitude;
    return true;
}

static bool parse_float(const char *text, uint32_t bits, uint64_t *out_value)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    const bool plain = *text && strspn(text, "+-.0123456789eE") == strlen(text) && *end == '\0';
    const float narrow = (float)value;
    *out_value = 0;
    if (!plain || !isfinite(value) || (bits < 64 && !isfinite(narrow)))
        return false;
    if (bits == 64) {
        memcpy(out_value, &value, sizeof value);
    } else if (bits == 32) {
        memcpy(out_value, &narrow, sizeof narrow);
    } else {
        const uint16_t half = vkf__half_from_float(narrow);
        memcpy(out_value, &half, sizeof half);
        return bits == 16 && fabsf(narrow) < 65520.0F;
    }
    return true;
}

static bool parse_value(const char *text, const spirv_spec *spec, uint64_t *out_value)
{
    static const char letters[] = {[SPIRV_BOOL] = 'b', [SPIRV_INT] = 'i', [SPIRV_UINT] = 'u', [SPIRV_FLOAT] = 'f'};
    if (text[0] != '\0' && text[1] == ':') {
        if (text[0] != letters[spec->type])
            return false;
        text += 2;
    }
    if (spec->type == SPIRV_BOOL)
        return parse_bool(text, out_value);
    if (spec->type == SPIRV_FLOAT)
        return parse_float(text, spec->bits, out_value);
    return parse_integer(text, spec, out_value);
}

bool vkf_parse_shader_constant(const char *text, const spirv_module *module, vkf_shader_constant *out_constant)
{
    const char *equals = strchr(text, '=');
    char id_text[16];
    uint32_t id = 0;
    if (!equals || (size_t)(equals - text) >= sizeof id_text) {
        vkf_print_error("--spec: '%.200s' is no ID=VALUE", text);
        return false;
    }
    snprintf(id_text, sizeof id_text, "%.*s", (int)(equals - text), text);
    if (!vkf_parse_u32("--spec", id_text, 0, UINT32_MAX - 1, &id))
        return false;
    const spirv_spec *spec = find(module, id);
    if (!spec) {
        say_which_there_are(module, id);
        return false;
    }
    uint64_t value = 0;
    if (!parse_value(equals + 1, spec, &value)) {
        vkf_print_error("--spec: '%.200s': constant %u is of %u bits, type %s, which that value is not", text, id,
                        spec->bits, type_names[spec->type]);
        return false;
    }
    *out_constant = (vkf_shader_constant){.id = id, .size_bytes = spec->bits / 8, .value = value};
    return true;
}
