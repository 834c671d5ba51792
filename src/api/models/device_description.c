// Reads descriptions of devices from files of the Vulkan Profiles schema.
#include <vkformer/plan.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/sized.h"
#include "io/json_file.h"
#include "vk/described.h"

// A profile may build on others, and these again.
#define MAX_DEPTH 8

#define UNKNOWN_ENUMERATOR 0x7fffffffu

typedef struct reader {
    const vkf__host *host;
    const char *path;
    vkf__described *described;
    const json_t *root;
    json_t *blocks, *profiles; // those that were taken, by name: another mention adds nothing
} reader;

// ---- values

static bool take_number(vkf__member_kind kind, const json_t *value, void *out)
{
    // What is beyond a signed integer of 64 bits comes as a real. 2^64 is how its predecessor is read.
    const double number = json_number_value(value), two_to_64 = 18446744073709551616.0;
    const bool whole = json_is_number(value) && number >= 0 && number == floor(number) && number <= two_to_64;
    if (kind == VKF_MEMBER_F32) {
        *(float *)out = number > 1e30 ? 1e30F : (float)number;
        return json_is_number(value) && number >= 0;
    }
    if (kind == VKF_MEMBER_U64) {
        *(uint64_t *)out = !whole || number >= two_to_64 ? UINT64_MAX : (uint64_t)number;
        return whole;
    }
    if (kind == VKF_MEMBER_BOOL && json_is_boolean(value)) {
        *(uint32_t *)out = json_is_true(value);
        return true;
    }
    const double most = kind == VKF_MEMBER_BOOL ? 1 : UINT32_MAX; // older files have 0 and 1
    *(uint32_t *)out = whole && number <= most ? (uint32_t)number : 0;
    return whole && number <= most;
}

static bool take_flags(const json_t *value, uint32_t *out)
{
    uint32_t bit = 0;
    size_t i;
    const json_t *name;
    *out = 0;
    json_array_foreach(value, i, name)
    {
        if (!json_is_string(name))
            return false;
        if (vkf__described_constant(json_string_value(name), &bit))
            *out |= bit;
    }
    return json_is_array(value);
}

static bool take_version(const char *text, uint32_t *out)
{
    unsigned major = 0, minor = 0, patch = 0;
    int end = 0;
    int read = sscanf(text, "%3u.%3u.%4u%n", &major, &minor, &patch, &end);
    *out = major << 22 | minor << 12 | patch;
    return read == 3 && text[end] == '\0' && major < 128 && minor < 1024 && patch < 4096;
}

static bool take_value(vkf__member_kind kind, const json_t *value, void *out)
{
    const char *text = json_string_value(value);
    if (kind == VKF_MEMBER_VERSION && text)
        return take_version(text, out);
    if (kind == VKF_MEMBER_FLAGS && !json_is_number(value))
        return take_flags(value, out);
    if (kind != VKF_MEMBER_ENUM)
        return take_number(kind, value, out);
    // Names that the library does not look at are all one: newer versions of Vulkan have more of them.
    if (text && !vkf__described_constant(text, out))
        *(uint32_t *)out = UNKNOWN_ENUMERATOR;
    return text != NULL;
}

static bool take_array(const vkf__described_member *member, const json_t *value, uint32_t *out)
{
    bool good = json_array_size(value) == member->size;
    for (uint32_t i = 0; good && i < member->size; i++)
        good = take_value(member->kind, json_array_get(value, i), &out[i]);
    return good;
}

static vkf_status refuse(const reader *r, const char *structure, const char *name, vkf__member_kind kind)
{
    static const char wanted[][48] = {
        [VKF_MEMBER_BOOL] = "true or false",
        [VKF_MEMBER_U32] = "a whole number of up to 32 bits",
        [VKF_MEMBER_U64] = "a whole number of up to 64 bits",
        [VKF_MEMBER_F32] = "a number that is not negative",
        [VKF_MEMBER_ENUM] = "the name of a value",
        [VKF_MEMBER_FLAGS] = "a list of names",
        [VKF_MEMBER_VERSION] = "a version of Vulkan as in \"1.3.204\"",
        [VKF_MEMBER_TEXT] = "a string",
    };
    return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: '%s' of '%s' must be %s", r->path, name, structure, wanted[kind]);
}

static vkf_status take_member(const reader *r, const char *structure, const char *name,
                              const vkf__described_member *member, const json_t *value, char *base)
{
    char *out = base + member->offset;
    const char *text = json_string_value(value);
    bool good = text != NULL;
    if (member->kind == VKF_MEMBER_TEXT)
        (void)snprintf(out, member->size, "%s", text ? text : "");
    else if (member->size > 1)
        good = take_array(member, value, (uint32_t *)(void *)out);
    else
        good = take_value(member->kind, value, out);
    return good ? VKF_OK : refuse(r, structure, name, member->kind);
}

// ---- structures

static vkf_status take_entry(const reader *r, const vkf__described_list *list, const json_t *entry, char *out)
{
    // A family stands in an object of its own: {"VkQueueFamilyProperties": {...}}.
    const json_t *inner = json_object_get(entry, list->name);
    const json_t *object = inner ? inner : entry;
    if (!json_is_object(object))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: '%s' must be a list of objects", r->path, list->name);
    const vkf__described_member *member = list->members;
    for (const char *name = list->names; *name; name += strlen(name) + 1, member++) {
        const json_t *value = json_object_get(object, name);
        if (value)
            VKF_RETURN_IF_ERROR(take_member(r, list->name, name, member, value, out));
    }
    return VKF_OK;
}

static vkf_status take_list(const reader *r, const vkf__described_list *list, const json_t *entries)
{
    char *base = (char *)r->described;
    uint32_t *count = (uint32_t *)(void *)(base + list->count);
    size_t i;
    const json_t *entry;
    if (!json_is_array(entries) || json_array_size(entries) > list->capacity)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: '%s' must be a list of at most %u", r->path, list->name,
                         list->capacity);
    *count = 0;
    json_array_foreach(entries, i, entry)
    {
        VKF_RETURN_IF_ERROR(take_entry(r, list, entry, base + list->offset + i * list->entry_bytes));
        *count = (uint32_t)i + 1;
    }
    return VKF_OK;
}

static vkf_status take_structure(const reader *r, const char *structure, const json_t *object)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: '%s' must be an object", r->path, structure);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const vkf__described_member *member = vkf__described_find(structure, name);
        const vkf__described_list *list = vkf__described_find_list(name);
        if (member)
            VKF_RETURN_IF_ERROR(take_member(r, structure, name, member, value, (char *)r->described));
        else if (list)
            VKF_RETURN_IF_ERROR(take_list(r, list, value));
        else if (strcmp(name, "limits") == 0)
            VKF_RETURN_IF_ERROR(take_structure(r, "VkPhysicalDeviceLimits", value));
    }
    return VKF_OK;
}

// An object of structures by their names: features, properties, or our own addition.
static vkf_status take_structures(const reader *r, const char *key, const json_t *object)
{
    const char *name;
    json_t *value;
    if (!object)
        return VKF_OK;
    if (!json_is_object(object))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: '%s' must be an object", r->path, key);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const vkf__described_list *list = vkf__described_find_list(name);
        if (list)
            VKF_RETURN_IF_ERROR(take_list(r, list, value));
        else if (strncmp(name, "Vk", 2) == 0)
            VKF_RETURN_IF_ERROR(take_structure(r, name, value));
    }
    return VKF_OK;
}

// ---- profiles

static vkf_status take_block(const reader *r, const char *name)
{
    const json_t *block = json_object_get(json_object_get(r->root, "capabilities"), name);
    const json_t *extensions = json_object_get(block, "extensions");
    const json_t *families = json_object_get(block, "queueFamiliesProperties");
    const char *extension;
    json_t *version;
    if (!json_is_object(block))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: 'capabilities' has no object '%s', which the profile names",
                         r->path, name);
    if (extensions && !json_is_object(extensions))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: 'extensions' of '%s' must be an object", r->path, name);
    json_object_foreach((json_t *)(uintptr_t)extensions, extension, version)
        VKF_RETURN_IF_ERROR(vkf__described_add_extension(r->described, extension));
    VKF_RETURN_IF_ERROR(take_structures(r, "features", json_object_get(block, "features")));
    VKF_RETURN_IF_ERROR(take_structures(r, "properties", json_object_get(block, "properties")));
    if (families)
        VKF_RETURN_IF_ERROR(take_list(r, vkf__described_find_list("VkQueueFamilyProperties"), families));
    return VKF_OK;
}

static vkf_status remember(const reader *r, json_t *names, const char *name)
{
    return json_object_set_new(names, name, json_true()) == 0
               ? VKF_OK
               : vkf__no_memory(r->host, "the names in a description", 1, sizeof(json_t *));
}

// A profile names its blocks of capabilities; where it leaves a choice of several, the first is taken.
static vkf_status take_blocks(const reader *r, const char *profile, const json_t *blocks)
{
    size_t i;
    const json_t *block;
    if (!json_is_array(blocks))
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: 'capabilities' of profile '%s' must be a list of names",
                         r->path, profile);
    json_array_foreach(blocks, i, block)
    {
        const json_t *name = json_is_array(block) ? json_array_get(block, 0) : block;
        if (!json_is_string(name))
            return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: 'capabilities' of profile '%s' must be a list of names",
                             r->path, profile);
        if (json_object_get(r->blocks, json_string_value(name)))
            continue;
        VKF_RETURN_IF_ERROR(take_block(r, json_string_value(name)));
        VKF_RETURN_IF_ERROR(remember(r, r->blocks, json_string_value(name)));
    }
    return VKF_OK;
}

static vkf_status take_profile(const reader *r, const char *name, int depth)
{
    const json_t *profile = json_object_get(json_object_get(r->root, "profiles"), name);
    const json_t *bases = json_object_get(profile, "profiles"), *base;
    size_t i;
    if (!json_is_object(profile) || depth > MAX_DEPTH)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: 'profiles' has no object '%s'%s", r->path, name,
                         depth > MAX_DEPTH ? " that does not build on itself" : "");
    json_array_foreach(bases, i, base)
    {
        if (!json_is_string(base))
            return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: 'profiles' of profile '%s' must be a list of names",
                             r->path, name);
        if (!json_object_get(r->profiles, json_string_value(base)))
            VKF_RETURN_IF_ERROR(take_profile(r, json_string_value(base), depth + 1));
    }
    const json_t *version = json_object_get(profile, "api-version");
    if (version && !take_value(VKF_MEMBER_VERSION, version, &r->described->properties.core.apiVersion))
        return refuse(r, name, "api-version", VKF_MEMBER_VERSION);
    VKF_RETURN_IF_ERROR(take_blocks(r, name, json_object_get(profile, "capabilities")));
    return remember(r, r->profiles, name);
}

static vkf_status choose_profile(const reader *r, const char *wanted, const char **out_name)
{
    json_t *profiles = json_object_get(r->root, "profiles");
    const char *name;
    json_t *profile;
    char names[400] = "";
    if (!json_is_object(profiles) || json_object_size(profiles) == 0)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: key 'profiles' is no object with a profile", r->path);
    json_object_foreach(profiles, name, profile)
    {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", name);
        *out_name = name;
    }
    if (wanted)
        *out_name = wanted;
    if (wanted ? json_object_get(profiles, wanted) != NULL : json_object_size(profiles) == 1)
        return VKF_OK;
    return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s%s%s: it has %s", r->path,
                     wanted ? "it has no profile '" : "name one of its profiles", wanted ? wanted : "",
                     wanted ? "'" : "", names);
}

// ---- what was read

static bool is_power_of_two(uint64_t value, uint64_t most)
{
    return value <= most && vkf__is_power_of_two_u64(value);
}

static vkf_status fail_check(const reader *r, const char *what)
{
    return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s", r->path, what);
}

#define MAX_ALIGNMENT 65536
#define MAX_SUBGROUP 1024

// A device older than Vulkan 1.1 cannot be used: no sizes are read.
static bool has_sound_subgroups(const vkf__caps *caps)
{
    const uint32_t size = caps->subgroup_size, min = caps->min_subgroup_size, max = caps->max_subgroup_size;
    return (size | min | max) == 0 || (is_power_of_two(size, MAX_SUBGROUP) && is_power_of_two(min, MAX_SUBGROUP) &&
                                       is_power_of_two(max, MAX_SUBGROUP) && min <= max);
}

// The rest of the library relies on these as drivers are trusted to keep them.
static vkf_status check_caps(const reader *r, const vkf__caps *caps)
{
    if (!is_power_of_two(caps->storage_buffer_alignment, MAX_ALIGNMENT) ||
        !is_power_of_two(caps->uniform_buffer_alignment, MAX_ALIGNMENT) ||
        !is_power_of_two(caps->texel_buffer_alignment, MAX_ALIGNMENT) ||
        !is_power_of_two(caps->non_coherent_atom_bytes, MAX_ALIGNMENT))
        return fail_check(r, "an alignment of buffer offsets, or nonCoherentAtomSize, is no power of two");
    if (!has_sound_subgroups(caps))
        return fail_check(r, "subgroupSize, minSubgroupSize and maxSubgroupSize must be powers of two in their order");
    if (caps->max_workgroup_count_x == 0 || caps->max_workgroup_count_y == 0 || caps->max_workgroup_count_z == 0)
        return fail_check(r, "'maxComputeWorkGroupCount' of 'VkPhysicalDeviceLimits' has a 0");
    for (uint32_t i = 0; i < caps->memory.memoryTypeCount; i++)
        if (caps->memory.memoryTypes[i].heapIndex >= caps->memory.memoryHeapCount)
            return fail_check(r, "'heapIndex' of 'memoryTypes' is beyond the heaps");
    return VKF_OK;
}

static vkf_status take_all(const reader *r, const char *wanted, vkf__caps *out_caps)
{
    const char *name = NULL;
    VKF_RETURN_IF_ERROR(choose_profile(r, wanted, &name));
    VKF_RETURN_IF_ERROR(take_profile(r, name, 0));
    VKF_RETURN_IF_ERROR(take_structures(r, "vkformer", json_object_get(r->root, "vkformer")));
    vkf__described_complete(r->described);
    VKF_RETURN_IF_ERROR(vkf__described_caps(r->described, out_caps));
    if (out_caps->name[0] == '\0')
        (void)snprintf(out_caps->name, sizeof out_caps->name, "%s", name);
    return check_caps(r, out_caps);
}

static vkf_status read_file(const vkf__host *host, const vkf_device_description_desc *desc, vkf__caps *out_caps)
{
    vkf__described described;
    json_t *root = NULL;
    const char *path = desc->path ? desc->path : "description";
    vkf_status status = desc->text ? vkf__json_parse(host, path, desc->text, desc->text_bytes, &root)
                                   : vkf__json_load(host, path, &root);
    if (status != VKF_OK)
        return status;
    vkf__described_init(&described, host);
    const reader r = {host, path, &described, root, json_object(), json_object()};
    status = take_all(&r, desc->profile, out_caps);
    vkf__described_finish(&described);
    json_decref(r.blocks);
    json_decref(r.profiles);
    json_decref(root);
    return status;
}

vkf_status vkf_device_description_create_sized(const vkf_device_description_desc *desc, size_t desc_bytes,
                                               vkf_device_description **out_description)
{
    vkf_device_description *description = NULL;
    vkf__host host;
    if (!desc || !out_description)
        return vkf__null_argument(__func__);
    VKF_TAKE_DESC("vkf_device_description_create", vkf_device_description_desc, desc, desc_bytes, &host);
    if (!desc->path && !desc->text)
        return vkf__fail(&host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_device_description_create: give the path or the text of a description");
    VKF_ALLOC_OR_RETURN(&host, description, 1);
    description->host = host;
    vkf_status status = read_file(&host, desc, &description->caps);
    if (status == VKF_OK)
        *out_description = description;
    else
        vkf_device_description_destroy(&description);
    return status;
}

void vkf_device_description_destroy(vkf_device_description **description)
{
    if (!description || !*description)
        return;
    const vkf__host host = (*description)->host;
    vkf__free(&host, *description);
    *description = NULL;
}
