// Profiles and masks, which make a device appear less capable than it is.
#include "vk/caps.h"

#include <string.h>

#include <vkformer/vulkan.h>

#include "vk/calibration.h"
#include "vk/feature_chain.h"

// A profile is a row of values that a device may not exceed. Names and values are those of the published profile
// documents. Where a document leaves a limit open, the row has the minimum that Vulkan requires; a feature that it does
// not promise is off.
typedef struct profile_row {
    const char *name;
    uint32_t api_version;
#define PROFILE_MEMBER(field, ...) bool field;
    VKF_CAPS_FEATURES(PROFILE_MEMBER)
#undef PROFILE_MEMBER
#define PROFILE_MEMBER(field, name, type) type field;
    VKF_CAPS_LIMITS(PROFILE_MEMBER)
#undef PROFILE_MEMBER
    bool matrix; // cooperative matrices and all features that belong to them
} profile_row;

static const profile_row profiles[VKF_CAPS_PROFILE_COUNT] = {
    [VKF_CAPS_PROFILE_FULL] =
        {
            .name = "full",
            .api_version = UINT32_MAX,
#define PROFILE_ALL(field, ...) .field = true,
            VKF_CAPS_FEATURES(PROFILE_ALL)
#undef PROFILE_ALL
#define PROFILE_ALL(field, name, type) .field = (type)UINT64_MAX,
                VKF_CAPS_LIMITS(PROFILE_ALL)
#undef PROFILE_ALL
                    .matrix = true,
        },
    // VP_ANDROID_vulkan_profile_2022 (formerly VP_ANDROID_baseline_2022), which builds on that of 2021.
    [VKF_CAPS_PROFILE_ANDROID_BASELINE_2022] =
        {
            .name = "android-baseline-2022",
            .api_version = VK_API_VERSION_1_1,
            .max_workgroup_invocations = 128,
            .max_workgroup_size_x = 128,
            .max_workgroup_count_x = 65535,
            .max_workgroup_count_y = 65535,
            .max_workgroup_count_z = 65535,
            .max_shared_memory_bytes = 16384,
            .max_storage_buffers = 4,
            .max_storage_buffer_range = UINT64_C(128) << 20,
            .max_uniform_buffer_range = 16384,
            .max_texel_elements = 65536,
            .max_push_constant_bytes = 128,
            .max_memory_allocation_count = 4096,
            .max_memory_allocation_bytes = UINT64_C(1) << 30,
            .max_buffer_bytes = UINT64_C(1) << 30,
            .subgroup_size = UINT32_MAX, // a fact about the hardware, of no use while subgroup_arithmetic is off
        },
    // VP_ANDROID_15_requirements, with workgroup sizes and the uniform range of VP_ANDROID_vulkan_profile_2025. Buffer
    // device addresses and integer dot products come with Vulkan 1.3, which does not say what is accelerated.
    [VKF_CAPS_PROFILE_ANDROID_2025] =
        {
            .name = "android-2025",
            .api_version = VK_API_VERSION_1_3,
            .storage_16bit = true,
            .shader_float16 = true,
            .subgroup_arithmetic = true,
            .subgroup_shuffle = true,
            .buffer_device_address = true,
            .vulkan_memory_model = true,
            .maintenance4 = true,
            .integer_dot = true,
            .compute_full_subgroups = true,
            .subgroup_size_control = true,
            .max_workgroup_invocations = 256,
            .max_workgroup_size_x = 256,
            .max_workgroup_count_x = 65535,
            .max_workgroup_count_y = 65535,
            .max_workgroup_count_z = 65535,
            .max_shared_memory_bytes = 16384,
            .max_storage_buffers = 12,
            .max_storage_buffer_range = UINT64_C(128) << 20,
            .max_uniform_buffer_range = 65536,
            .max_texel_elements = 65536,
            .max_push_constant_bytes = 128,
            .max_memory_allocation_count = 4096,
            .max_memory_allocation_bytes = UINT64_C(1) << 30,
            .max_buffer_bytes = UINT64_C(1) << 30,
            .subgroup_size = UINT32_MAX,
        },
    // VP_KHR_roadmap_2026 with what it inherits from the roadmaps of 2024 and 2022 and from Vulkan 1.4.
    [VKF_CAPS_PROFILE_ROADMAP_2026] =
        {
            .name = "roadmap-2026",
            .api_version = VK_MAKE_API_VERSION(0, 1, 4, 0),
            .storage_16bit = true,
            .shader_float16 = true,
            .subgroup_arithmetic = true,
            .subgroup_shuffle = true,
            .buffer_device_address = true,
            .vulkan_memory_model = true,
            .maintenance4 = true,
            .integer_dot = true,
            .compute_full_subgroups = true,
            .subgroup_size_control = true,
            .timestamps = true,
            .max_workgroup_invocations = 256,
            .max_workgroup_size_x = 256,
            .max_workgroup_count_x = 65535,
            .max_workgroup_count_y = 65535,
            .max_workgroup_count_z = 65535,
            .max_shared_memory_bytes = 32768,
            .max_storage_buffers = 200,
            .max_storage_buffer_range = UINT64_C(128) << 20,
            .max_uniform_buffer_range = 65536,
            .max_texel_elements = 65536,
            .max_push_constant_bytes = 256,
            .max_memory_allocation_count = 4096,
            .max_memory_allocation_bytes = UINT64_C(1) << 30,
            .max_buffer_bytes = UINT64_C(1) << 30,
            .subgroup_size = UINT32_MAX,
        },
};

const char *vkf_caps_profile_name(vkf_caps_profile profile)
{
    return (unsigned)profile < VKF_CAPS_PROFILE_COUNT ? profiles[profile].name : "unknown";
}

bool vkf_caps_profile_from_name(const char *name, vkf_caps_profile *out_profile)
{
    for (int i = 0; name && out_profile && i < VKF_CAPS_PROFILE_COUNT; i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            *out_profile = (vkf_caps_profile)i;
            return true;
        }
    }
    return false;
}

static void apply_profile(vkf__caps *caps, const profile_row *row)
{
    if (caps->api_version > row->api_version)
        caps->api_version = row->api_version;
#define APPLY(field, ...) caps->field = caps->field && row->field;
    VKF_CAPS_FEATURES(APPLY)
#undef APPLY
#define APPLY(field, name, type)  \
    if (caps->field > row->field) \
        caps->field = row->field;
    VKF_CAPS_LIMITS(APPLY)
#undef APPLY
    caps->matrix.cooperative_matrix = caps->matrix.cooperative_matrix && row->matrix;
}

// Accepts decimal digits only: strtoull would let signs, blanks and other bases through.
static bool parse_number(const char *text, uint64_t *out_value)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out_value = value;
    return true;
}

// Switches the feature off that the mask names; false when it names none.
static bool mask_feature(vkf__caps *caps, const char *name, size_t length)
{
    for (uint32_t i = 0; i < VKF_MASKABLE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        if (strlen(feature->name) == length && memcmp(feature->name, name, length) == 0) {
            vkf__feature_set_in_caps(feature, caps, false);
            return true;
        }
    }
    return false;
}

static vkf_status apply_mask(const vkf__host *host, vkf__caps *caps, const char *mask)
{
    const char *equals = strchr(mask, '=');
    size_t length = equals ? (size_t)(equals - mask) : strlen(mask);
    uint64_t value = 0;
    bool number = equals && parse_number(equals + 1, &value);

    if (mask_feature(caps, mask, length)) {
        if (equals)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "mask \"%s\": %.*s is a feature and takes no value; its name alone switches it off", mask,
                             (int)length, mask);
        return VKF_OK;
    }
#define APPLY(field, name, type)                                                                                       \
    if (length == sizeof(name) - 1 && memcmp(mask, name, length) == 0) {                                               \
        if (!number)                                                                                                   \
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,                                                         \
                             "mask \"%s\": %s is a limit: write %s=N with a decimal number N that fits 64 bits", mask, \
                             name, name);                                                                              \
        if (caps->field > value)                                                                                       \
            caps->field = (type)value;                                                                                 \
        return VKF_OK;                                                                                                 \
    }
    VKF_CAPS_LIMITS(APPLY)
#undef APPLY

#define LIST(field, name, ...) " " name
#define LIST_LIMIT(field, name, type) " " name "=N"
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "mask \"%s\" is not known; known are:%s", mask,
                     VKF_CAPS_FEATURES(LIST) VKF_MATRIX_FEATURES(LIST) VKF_CAPS_LIMITS(LIST_LIMIT));
#undef LIST_LIMIT
#undef LIST
}

vkf_status vkf__caps_limit(const vkf__host *host, vkf__caps *caps, vkf_caps_profile profile, const char *const *masks,
                           uint32_t mask_count)
{
    vkf__caps limited = *caps;
    if ((unsigned)profile >= VKF_CAPS_PROFILE_COUNT)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "profile %d does not exist: take one below %d", (int)profile,
                         (int)VKF_CAPS_PROFILE_COUNT);
    if (mask_count > 0 && !masks)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "mask_count is %u, but masks is NULL", mask_count);
    apply_profile(&limited, &profiles[profile]);
    for (uint32_t i = 0; i < mask_count; i++) {
        if (!masks[i])
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "masks[%u] is NULL", i);
        vkf_status status = apply_mask(host, &limited, masks[i]);
        if (status != VKF_OK)
            return status;
    }
    if (!limited.matrix.cooperative_matrix)
        limited.matrix = (vkf__caps_matrix){0};
    *caps = limited;
    return VKF_OK;
}

bool vkf__caps_keeps_matrices(vkf_caps_profile profile, const char *const *masks, uint32_t mask_count)
{
    bool masked = false;
    for (uint32_t i = 0; masks && i < mask_count; i++)
        masked = masked || (masks[i] && strcmp(masks[i], "cooperativeMatrix") == 0);
    return !masked && (unsigned)profile < VKF_CAPS_PROFILE_COUNT && profiles[profile].matrix;
}

static bool same_shape(const vkf__matrix_shape *a, const vkf__matrix_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->a_type == b->a_type && a->b_type == b->b_type &&
           a->c_type == b->c_type && a->result_type == b->result_type && a->scope == b->scope &&
           a->saturating == b->saturating && a->workgroup_invocations == b->workgroup_invocations;
}

// Keeps the shapes that the other list has, too. A profile cannot list shapes; then all of them stay.
static uint32_t keep_shapes(vkf__matrix_shape *shapes, uint32_t count, const vkf__matrix_shape *other,
                            uint32_t other_count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool listed = other_count == 0;
        for (uint32_t k = 0; k < other_count && !listed; k++)
            listed = same_shape(&shapes[i], &other[k]);
        if (listed)
            shapes[kept++] = shapes[i];
    }
    return kept;
}

void vkf__caps_limit_to(vkf__caps *caps, const vkf__caps *described)
{
    const uint32_t subgroup_size = caps->subgroup_size;
    vkf__caps_matrix *matrix = &caps->matrix;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool both = vkf__feature_in_caps(feature, caps) && vkf__feature_in_caps(feature, described);
        vkf__feature_set_in_caps(feature, caps, both);
    }
#define LOWER(field, name, type)        \
    if (caps->field > described->field) \
        caps->field = described->field;
    VKF_CAPS_LIMITS(LOWER)
    LOWER(api_version, , )
#undef LOWER
    caps->subgroup_size = subgroup_size;
    matrix->shape_count =
        keep_shapes(matrix->shapes, matrix->shape_count, described->matrix.shapes, described->matrix.shape_count);
    matrix->flexible_count = keep_shapes(matrix->flexible, matrix->flexible_count, described->matrix.flexible,
                                         described->matrix.flexible_count);
    if (!matrix->cooperative_matrix)
        *matrix = (vkf__caps_matrix){0};
}

static vkf_status check_family(const vkf__host *host, const vkf__caps *caps, uint32_t index)
{
    if (index >= caps->queue_family_count)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "external device: queue_family_index is %u, but %s has %u families", index, caps->name,
                         caps->queue_family_count);
    if (!caps->queue_families[index].compute)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "external device: queue family %u of %s cannot compute: give a queue of one that can", index,
                         caps->name);
    return VKF_OK;
}

static bool is_named(const vkf_external_device *external, const char *extension)
{
    for (uint32_t i = 0; i < external->extension_count; i++)
        if (strcmp(external->extensions[i], extension) == 0)
            return true;
    return false;
}

// Calibrated timestamps have two names, and a driver may offer both.
static bool extension_enabled(const vkf_external_device *external, const vkf__feature *feature)
{
    return is_named(external, feature->extension) || (feature->caps == offsetof(vkf__caps, calibrated_timestamps) &&
                                                      is_named(external, VKF_KHR_CALIBRATED_TIMESTAMPS));
}

// Whether all that has to be enabled for a feature is: its extension, or its switches, and the extensions that have the
// structures of these.
static bool is_vouched_for(const vkf__feature *feature, const vkf__features *enabled, uint32_t api_version,
                           const vkf_external_device *external)
{
    const uint32_t structures = vkf__feature_structure_bits(feature);
    if (feature->extension)
        return extension_enabled(external, feature);
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++) {
        const vkf__feature_structure *structure = &vkf__feature_structures[i];
        if ((structures >> i & 1) && structure->extension && api_version < structure->core &&
            !is_named(external, structure->extension))
            return false;
    }
    return vkf__features_has(enabled, feature);
}

vkf_status vkf__caps_limit_external(const vkf__host *host, vkf__caps *caps, const vkf_external_device *external)
{
    const uint32_t index = external->queue_family_index;
    vkf__features enabled;
    vkf_status status = check_family(host, caps, index);
    if (status != VKF_OK)
        return status;
    if (caps->api_version > external->api_version)
        caps->api_version = external->api_version;
    caps->portability_subset = false; // enabled by the caller where it is offered
    caps->queue_family_index = index;
    caps->timestamp_valid_bits = caps->queue_families[index].timestamp_valid_bits;
    caps->timestamps = caps->timestamps && caps->timestamp_valid_bits > 0;
    vkf__feature_chain_read(external->features, &enabled);
    if (external->storage_16bit)
        enabled.storage_16bit.storageBuffer16BitAccess = VK_TRUE;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool usable =
            !vkf__feature_is_switched(feature) || is_vouched_for(feature, &enabled, caps->api_version, external);
        if (!usable || !vkf__feature_has_needs(feature, caps))
            vkf__feature_set_in_caps(feature, caps, false);
    }
    if (!caps->matrix.cooperative_matrix)
        caps->matrix = (vkf__caps_matrix){0};
    return VKF_OK;
}
