// Reads the rotary embedding of config.json, and computes the cosines and sines of positions.
#include "model/family/rotary_rows.h"

#include <math.h>
#include <string.h>

#include "io/json_file.h"

#define TAU 6.283185307179586

// What config.json says about a rotary embedding.
typedef struct rope_config {
    const json_t *parameters; // NULL: no scaling
    const char *type;
    float theta, part;
    float factor;
    bool ratio; // the factor is the ratio of the context to original_len
    uint32_t original_len;
} rope_config;

typedef struct reader {
    const vkf__host *host;
    const char *path;
    const rope_config *rope;
    vkf_rotary_config *out;
} reader;

static vkf_status read_number(const reader *r, const char *key, bool required, float *value)
{
    if (required || vkf__json_has(r->rope->parameters, key))
        return vkf__json_f32(r->host, r->path, r->rope->parameters, key, value);
    return VKF_OK;
}

// ---- kinds of scaling, each applied to the frequencies 1 / theta^(2i / dim)

static vkf_status scale_nothing(const reader *r)
{
    (void)r;
    return VKF_OK;
}

// Chen et al. 2023, "Extending Context Window of Large Language Models via Positional Interpolation".
static vkf_status scale_linear(const reader *r)
{
    for (uint32_t i = 0; i < r->out->dim / 2; i++)
        r->out->inverse_frequency[i] /= r->rope->factor;
    return VKF_OK;
}

// The scaling of Llama 3.1: long waves are stretched, short ones are not, and those in between gradually.
static vkf_status scale_llama3(const reader *r)
{
    float low = 0, high = 0;
    double len = r->rope->original_len;
    VKF_RETURN_IF_ERROR(read_number(r, "low_freq_factor", true, &low));
    VKF_RETURN_IF_ERROR(read_number(r, "high_freq_factor", true, &high));
    if (!(low > 0.0f && high > low))
        return vkf__fail(r->host, VKF_ERROR_FORMAT,
                         "%s: high_freq_factor is not above low_freq_factor, or that not above 0", r->path);
    for (uint32_t i = 0; i < r->out->dim / 2; i++) {
        float *frequency = &r->out->inverse_frequency[i];
        double wave = TAU / *frequency;
        double smooth = (len / wave - low) / ((double)high - low);
        smooth = wave > len / low ? 0.0 : wave < len / high ? 1.0 : smooth;
        *frequency = (float)((1.0 - smooth) * *frequency / r->rope->factor + smooth * *frequency);
    }
    return VKF_OK;
}

static double yarn_scale(double factor, double by)
{
    return factor <= 1.0 ? 1.0 : 0.1 * by * log(factor) + 1.0;
}

static vkf_status read_yarn_scale(const reader *r)
{
    float given = 0, over = 0, under = 0;
    VKF_RETURN_IF_ERROR(read_number(r, "attention_factor", false, &given));
    VKF_RETURN_IF_ERROR(read_number(r, "mscale", false, &over));
    VKF_RETURN_IF_ERROR(read_number(r, "mscale_all_dim", false, &under));
    bool both = over != 0.0f && under != 0.0f;
    double scale = yarn_scale(r->rope->factor, both ? over : 1.0) / (both ? yarn_scale(r->rope->factor, under) : 1.0);
    r->out->scale = given != 0.0f ? given : (float)scale;
    return VKF_OK;
}

// The dimension whose wave turns `rotations` times within the original context.
static double yarn_dimension(const reader *r, double rotations)
{
    return r->out->dim * log(r->rope->original_len / (rotations * TAU)) / (2.0 * log(r->rope->theta));
}

// Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models".
static vkf_status scale_yarn(const reader *r)
{
    float fast = 32.0f, slow = 1.0f;
    bool truncate = true;
    VKF_RETURN_IF_ERROR(read_yarn_scale(r));
    VKF_RETURN_IF_ERROR(read_number(r, "beta_fast", false, &fast));
    VKF_RETURN_IF_ERROR(read_number(r, "beta_slow", false, &slow));
    if (vkf__json_has(r->rope->parameters, "truncate"))
        VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->rope->parameters, "truncate", &truncate));
    double low = yarn_dimension(r, fast), high = yarn_dimension(r, slow);
    low = fmax(truncate ? floor(low) : low, 0.0);
    high = fmin(truncate ? ceil(high) : high, r->out->dim - 1.0);
    if (low == high)
        high += 0.001;
    for (uint32_t i = 0; i < r->out->dim / 2; i++) {
        double stretched = fmin(fmax((i - low) / (high - low), 0.0), 1.0);
        float *frequency = &r->out->inverse_frequency[i];
        *frequency = (float)(*frequency / r->rope->factor * stretched + *frequency * (1.0 - stretched));
    }
    return VKF_OK;
}

static vkf_status scale_dynamic(const reader *r)
{
    if (r->out->dim < 4)
        return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: dynamic scaling of %u rotated elements", r->path,
                         r->out->dim);
    r->out->dynamic_from = r->rope->original_len;
    r->out->dynamic_factor = r->rope->factor;
    r->out->theta = r->rope->theta;
    return VKF_OK;
}

// Reads LongRoPE's factors, one for each frequency, and divides the frequencies by them.
static vkf_status read_factors(const reader *r, const char *key, float *out_frequencies)
{
    const json_t *list = json_object_get(r->rope->parameters, key);
    uint32_t half = r->out->dim / 2;
    if (!json_is_array(list) || json_array_size(list) != half)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s is no list of %u numbers", r->path, key, half);
    for (uint32_t i = 0; i < half; i++) {
        double factor = json_number_value(json_array_get(list, i)); // 0 where it is not a number
        if (!(factor > 0.0 && factor < 1e30))
            return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s[%u] is no number above 0", r->path, key, i);
        out_frequencies[i] = 1.0f / ((float)factor * powf(r->rope->theta, (float)(2 * i) / (float)r->out->dim));
    }
    return VKF_OK;
}

// Ding et al. 2024, "LongRoPE": one list of factors for sequences up to the trained length, and one for longer ones.
static vkf_status scale_longrope(const reader *r)
{
    float given = 0;
    double factor = r->rope->factor, original = r->rope->original_len;
    VKF_RETURN_IF_ERROR(read_factors(r, "short_factor", r->out->inverse_frequency));
    VKF_RETURN_IF_ERROR(read_factors(r, "long_factor", r->out->long_inverse_frequency));
    VKF_RETURN_IF_ERROR(read_number(r, "attention_factor", false, &given));
    if (given == 0.0f && factor > 1.0 && original <= 1.0)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: LongRoPE from one position on", r->path);
    r->out->scale = given != 0.0f ? given : factor <= 1.0 ? 1.0f : (float)sqrt(1.0 + log(factor) / log(original));
    r->out->dynamic_from = r->rope->original_len;
    return VKF_OK;
}

static const struct {
    const char *type;
    bool factor; // it must be given
    vkf_status (*scale)(const reader *r);
} kinds[] = {
    {"default", false, scale_nothing}, {"linear", true, scale_linear}, {"dynamic", true, scale_dynamic},
    {"yarn", true, scale_yarn},        {"llama3", true, scale_llama3}, {"longrope", false, scale_longrope},
};

static vkf_status apply_kind(const reader *r, rope_config *rope)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, rope->type) != 0)
            continue;
        if (!rope->ratio)
            VKF_RETURN_IF_ERROR(read_number(r, "factor", kinds[i].factor, &rope->factor));
        if (!(rope->factor > 0.0f))
            return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: factor of the rotary embedding is not above 0", r->path);
        return kinds[i].scale(r);
    }
    return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED,
                     "%s: rope_type is \"%s\"; supported: default, linear, dynamic, yarn, llama3, longrope", r->path,
                     rope->type);
    return VKF_OK;
}

// ---- config.json

// Reads LongRoPE's trained length. Where it is a key beside max_position_embeddings, the ratio of the two is the
// factor. Where it is among the rope parameters, the ratio is the factor only if none is given.
static vkf_status read_longrope_length(const vkf__host *host, const char *path, const json_t *root, uint32_t len,
                                       rope_config *rope)
{
    static const char key[] = "original_max_position_embeddings";
    bool beside = vkf__json_has(root, key), among = vkf__json_has(rope->parameters, key);
    if (strcmp(rope->type, "longrope") != 0)
        return VKF_OK;
    if (beside)
        VKF_RETURN_IF_ERROR(vkf__json_u32(host, path, root, key, 1, VKF_MAX_LEN, &rope->original_len));
    rope->ratio = beside || (among && !vkf__json_has(rope->parameters, "factor"));
    if (rope->ratio)
        rope->factor = (float)len / (float)rope->original_len;
    return VKF_OK;
}

// Since version 5 transformers writes everything to rope_parameters, with one object for each type of layer where they
// differ. Older versions wrote theta and part beside rope_scaling.
static const json_t *parameters_of(const json_t *root, const char *layer_type)
{
    const json_t *parameters = json_object_get(root, "rope_parameters");
    if (!json_is_object(parameters))
        parameters = json_object_get(root, "rope_scaling");
    const json_t *own = json_object_get(parameters, layer_type);
    if (json_is_object(own))
        return own;
    return json_is_object(parameters) ? parameters : NULL;
}

// A family that rotates a part of each head has a key for it. In transformers the others rotate whole heads: whatever
// partial_rotary_factor says where the kind is "default", while other kinds fail there.
static vkf_status check_part(const vkf__host *host, const char *path, const vkf__family *family, rope_config *rope)
{
    if (family->keys.rotary_part)
        return VKF_OK;
    if (strcmp(rope->type, "default") == 0)
        rope->part = family->rotary_part;
    if (rope->part == family->rotary_part)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: partial_rotary_factor is %g with rope_type \"%s\", and this family rotates whole heads: take "
                     "it out of the rope parameters",
                     path, (double)rope->part, rope->type);
}

static vkf_status read_rope(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family,
                            bool windowed, const vkf_model_config *config, rope_config *out)
{
    uint32_t len = vkf__text_positions(config);
    // Where the key is null, layers with a window have the same theta as the others.
    bool own = windowed && !json_is_null(json_object_get(root, family->keys.window_rotary_theta));
    rope_config r = {
        .parameters = parameters_of(root, windowed ? "sliding_attention" : "full_attention"),
        .type = "default",
        .theta = own ? family->window_rotary_theta : family->rotary_theta,
        .part = family->rotary_part,
        .factor = 1.0f,
        .original_len = len,
    };
    const struct {
        const json_t *object;
        const char *key;
        float *value;
    } numbers[] = {
        {root, own ? family->keys.window_rotary_theta : family->keys.rotary_theta, &r.theta},
        {root, family->keys.rotary_part, &r.part},
        {r.parameters, "rope_theta", &r.theta},
        {r.parameters, "partial_rotary_factor", &r.part},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (vkf__json_has(numbers[i].object, numbers[i].key))
            VKF_RETURN_IF_ERROR(vkf__json_f32(host, path, numbers[i].object, numbers[i].key, numbers[i].value));
    const char *type = vkf__json_has(r.parameters, "rope_type") ? "rope_type" : "type"; // the older name
    if (vkf__json_has(r.parameters, type))
        VKF_RETURN_IF_ERROR(vkf__json_string(host, path, r.parameters, type, &r.type));
    if (vkf__json_has(r.parameters, "original_max_position_embeddings"))
        VKF_RETURN_IF_ERROR(vkf__json_u32(host, path, r.parameters, "original_max_position_embeddings", 1, VKF_MAX_LEN,
                                          &r.original_len));
    VKF_RETURN_IF_ERROR(check_part(host, path, family, &r));
    VKF_RETURN_IF_ERROR(read_longrope_length(host, path, root, len, &r));
    if (!(r.theta > 1.0f) || !(r.part > 0.0f && r.part <= 1.0f))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: theta of the rotary embedding is %g and its part of a head %g",
                         path, (double)r.theta, (double)r.part);
    *out = r;
    return VKF_OK;
}

static vkf_status make_rotary(const vkf__host *host, const char *path, const vkf_model_config *config,
                              rope_config *rope, vkf_rotary_config *out_rotary)
{
    vkf_rotary_config rotary = {.scale = 1.0f};
    rotary.dim = (uint32_t)((float)config->head_dim * rope->part);
    if (rotary.dim % 2 != 0 || rotary.dim == 0 || rotary.dim > VKF_MAX_ROTARY_DIM)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s: %u elements of a head are rotated; supported: an even number up to %d", path, rotary.dim,
                         VKF_MAX_ROTARY_DIM);
    for (uint32_t i = 0; i < rotary.dim / 2; i++)
        rotary.inverse_frequency[i] = 1.0f / powf(rope->theta, (float)(2 * i) / (float)rotary.dim);
    VKF_RETURN_IF_ERROR(apply_kind(&(reader){host, path, rope, &rotary}, rope));
    *out_rotary = rotary;
    return VKF_OK;
}

vkf_status vkf__rotary_load(const vkf__host *host, const char *path, const json_t *root, const vkf__family *family,
                            vkf_model_config *config)
{
    rope_config rope;
    VKF_RETURN_IF_ERROR(read_rope(host, path, root, family, false, config, &rope));
    VKF_RETURN_IF_ERROR(make_rotary(host, path, config, &rope, &config->rotary));
    if (config->rotary.dynamic_factor > 0.0f && (double)config->max_target_len * (double)rope.factor < VKF_MAX_LEN)
        config->max_target_len = (uint32_t)((float)config->max_target_len * rope.factor);
    if (family->keys.window_rotary_theta) {
        VKF_RETURN_IF_ERROR(read_rope(host, path, root, family, true, config, &rope));
        VKF_RETURN_IF_ERROR(make_rotary(host, path, config, &rope, &config->window_rotary));
    }
    return VKF_OK;
}

// The frequencies of a sequence longer than the trained length. LongRoPE has a list of them. In the dynamic kind theta
// grows with the excess length, to the power of dim / (dim - 2): "NTK-aware" scaling, as transformers does it.
static void grown_frequencies(const vkf_rotary_config *rotary, uint32_t sequence_len, float *out_frequencies)
{
    if (rotary->dynamic_factor == 0.0f) {
        memcpy(out_frequencies, rotary->long_inverse_frequency, rotary->dim / 2 * sizeof *out_frequencies);
        return;
    }
    double beyond =
        rotary->dynamic_factor * (double)sequence_len / rotary->dynamic_from - (rotary->dynamic_factor - 1.0);
    float theta = (float)(rotary->theta * pow(beyond, rotary->dim / (rotary->dim - 2.0)));
    for (uint32_t i = 0; i < rotary->dim / 2; i++)
        out_frequencies[i] = 1.0f / powf(theta, (float)(2 * i) / (float)rotary->dim);
}

void vkf__rotary_rows(const vkf_rotary_config *rotary, uint32_t first, uint32_t count, uint32_t sequence_len,
                      float *out_rows)
{
    uint32_t half = rotary->dim / 2;
    float grown[VKF_MAX_ROTARY_DIM / 2];
    for (uint32_t t = first; t < first + count; t++, out_rows += rotary->dim) {
        uint32_t len = sequence_len > 0 ? sequence_len : t + 1;
        bool grows = rotary->dynamic_from > 0 && len > rotary->dynamic_from;
        if (grows)
            grown_frequencies(rotary, len, grown);
        for (uint32_t i = 0; i < half; i++) {
            float angle = (float)t * (grows ? grown[i] : rotary->inverse_frequency[i]);
            out_rows[i] = (float)(cos((double)angle) * rotary->scale);
            out_rows[half + i] = (float)(sin((double)angle) * rotary->scale);
        }
    }
}
