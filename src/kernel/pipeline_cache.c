// Loads, checks and saves the content of a VkPipelineCache.
#include "kernel/pipeline_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define CACHE_MAGIC UINT32_C(0x504b4656) // "VFKP"
#define CACHE_VERSION 1u
#define CACHE_MAX_BYTES ((size_t)256 << 20)

typedef struct cache_header {
    uint32_t magic;
    uint32_t version;
    uint32_t vendor_id;
    uint32_t device_id;
    uint32_t driver_version;
    uint8_t uuid[VKF_UUID_SIZE];
    uint32_t payload_bytes;
    uint32_t hash_low;
    uint32_t hash_high;
} cache_header;
_Static_assert(sizeof(cache_header) == 48, "the header of a cache file has no padding");

void vkf__pipeline_cache_key(const vkf__caps *caps, char *out_key, size_t capacity)
{
    char uuid[2 * VKF_UUID_SIZE + 1];
    for (size_t i = 0; i < VKF_UUID_SIZE; i++)
        snprintf(uuid + 2 * i, 3, "%02x", caps->pipeline_cache_uuid[i]);
    snprintf(out_key, capacity, "pipelines-%08x-%08x-%s", caps->vendor_id, caps->device_id, uuid);
}

static cache_header make_header(const vkf__caps *caps, const void *payload, size_t payload_bytes)
{
    uint64_t hash = vkf__hash(VKF_HASH_SEED, payload, payload_bytes);
    cache_header header = {
        .magic = CACHE_MAGIC,
        .version = CACHE_VERSION,
        .vendor_id = caps->vendor_id,
        .device_id = caps->device_id,
        .driver_version = caps->driver_version,
        .payload_bytes = (uint32_t)payload_bytes,
        .hash_low = (uint32_t)hash,
        .hash_high = (uint32_t)(hash >> 32),
    };
    memcpy(header.uuid, caps->pipeline_cache_uuid, VKF_UUID_SIZE);
    return header;
}

bool vkf__pipeline_cache_valid(const vkf__caps *caps, const void *blob, size_t size_bytes, const void **out_payload,
                               size_t *out_payload_bytes, const char **out_why)
{
    cache_header header;
    *out_why = "it is truncated";
    if (size_bytes < sizeof header)
        return false;
    memcpy(&header, blob, sizeof header);
    *out_why = "it is no pipeline cache of this version";
    if (header.magic != CACHE_MAGIC || header.version != CACHE_VERSION)
        return false;
    *out_why = "it is truncated";
    if (header.payload_bytes != size_bytes - sizeof header)
        return false;
    const uint8_t *payload = (const uint8_t *)blob + sizeof header;
    cache_header expected = make_header(caps, payload, header.payload_bytes);
    *out_why = "its content is corrupt";
    if (expected.hash_low != header.hash_low || expected.hash_high != header.hash_high)
        return false;
    *out_why = "it belongs to another device or driver";
    if (memcmp(&expected, &header, sizeof header) != 0)
        return false;
    *out_payload = payload;
    *out_payload_bytes = header.payload_bytes;
    return true;
}

// Loads the blob into fresh memory. It is NULL with size 0 when nothing is stored.
static vkf_status load_blob(const vkf__host *host, const vkf_cache_callbacks *callbacks, const char *key,
                            void **out_blob, size_t *out_size)
{
    uint8_t *blob = NULL;
    size_t size = callbacks->load ? callbacks->load(callbacks->user, key, NULL, 0) : 0;
    if (size == 0 || size > CACHE_MAX_BYTES) {
        *out_blob = NULL;
        *out_size = 0;
        return VKF_OK;
    }
    VKF_ALLOC_OR_RETURN(host, blob, size);
    size_t loaded = callbacks->load(callbacks->user, key, blob, size);
    *out_size = loaded < size ? loaded : size;
    *out_blob = blob;
    return VKF_OK;
}

vkf_status vkf__pipeline_cache_create(vkf__device *device, const vkf_cache_callbacks *callbacks,
                                      VkPipelineCache *out_cache)
{
    const vkf__caps *caps = &device->plan.caps;
    vkf_status status = VKF_OK;
    char key[96];
    void *blob = NULL;
    size_t blob_bytes = 0;
    vkf__pipeline_cache_key(caps, key, sizeof key);
    VKF_TRY(load_blob(device->host, callbacks, key, &blob, &blob_bytes));
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    const char *why = NULL;
    if (blob && !vkf__pipeline_cache_valid(caps, blob, blob_bytes, &info.pInitialData, &info.initialDataSize, &why))
        vkf__log(device->host, VKF_SEVERITY_WARNING, "cached pipelines %s ignored: %s", key, why);
    VkPipelineCache cache = VK_NULL_HANDLE;
    VKF_VK(device, device->vk.vkCreatePipelineCache(device->handle, &info, NULL, &cache));
    vkf__device_name(device, VK_OBJECT_TYPE_PIPELINE_CACHE, (uint64_t)cache, "vkformer pipelines");
    *out_cache = cache;
fail:
    vkf__free(device->host, blob);
    return status;
}

vkf_status vkf__pipeline_cache_save(vkf__device *device, const vkf_cache_callbacks *callbacks, VkPipelineCache cache)
{
    if (!callbacks->save || cache == VK_NULL_HANDLE || device->lost)
        return VKF_OK;
    vkf_status status = VKF_OK;
    uint8_t *blob = NULL;
    size_t size = 0;
    VKF_VK(device, device->vk.vkGetPipelineCacheData(device->handle, cache, &size, NULL));
    if (size == 0 || size > CACHE_MAX_BYTES)
        return VKF_OK;
    VKF_ALLOC(device->host, blob, sizeof(cache_header) + size);
    VKF_VK(device, device->vk.vkGetPipelineCacheData(device->handle, cache, &size, blob + sizeof(cache_header)));
    cache_header header = make_header(&device->plan.caps, blob + sizeof header, size);
    memcpy(blob, &header, sizeof header);
    char key[96];
    vkf__pipeline_cache_key(&device->plan.caps, key, sizeof key);
    callbacks->save(callbacks->user, key, blob, sizeof header + size);
fail:
    vkf__free(device->host, blob);
    return status;
}
