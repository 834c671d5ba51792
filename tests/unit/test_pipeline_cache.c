// The blob that keeps a VkPipelineCache: what the library saved is taken, everything else ignored with a warning. The
// driver here is a few lines of the test.
#include "kernel/pipeline_cache.h"

#include "caps_fixture.h"
#include "random.h"

enum { HEADER_BYTES = 48, PAYLOAD_BYTES = 300, BLOB_BYTES = HEADER_BYTES + PAYLOAD_BYTES };

// What the callbacks and the driver see and do.
typedef struct cache_world {
    vkf__host host;
    message_record record;
    vkf__instance instance;
    vkf__device device;
    vkf_cache_callbacks callbacks;
    uint8_t blob[BLOB_BYTES + 16];
    size_t blob_bytes;
    size_t shrinks_to; // the second load gives only so much; 0: all
    char key[128];
    int loads, saves;
} cache_world;

static uint8_t payload[PAYLOAD_BYTES];
static VkResult driver_result;
static size_t initial_bytes; // what the driver was given to begin with
static uint8_t initial_data[PAYLOAD_BYTES];

static VKAPI_ATTR VkResult VKAPI_CALL get_data(VkDevice device, VkPipelineCache cache, size_t *size, void *data)
{
    (void)device;
    (void)cache;
    if (driver_result != VK_SUCCESS)
        return driver_result;
    if (data)
        memcpy(data, payload, PAYLOAD_BYTES);
    *size = PAYLOAD_BYTES;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_cache(VkDevice device, const VkPipelineCacheCreateInfo *info,
                                                   const VkAllocationCallbacks *callbacks, VkPipelineCache *cache)
{
    (void)device;
    (void)callbacks;
    if (driver_result != VK_SUCCESS)
        return driver_result;
    initial_bytes = info->initialDataSize;
    assert_true(initial_bytes <= sizeof initial_data);
    if (initial_bytes > 0)
        memcpy(initial_data, info->pInitialData, initial_bytes);
    *cache = (VkPipelineCache)(uintptr_t)0x1234;
    return VK_SUCCESS;
}

static size_t load(void *user, const char *key, void *data, size_t capacity)
{
    cache_world *world = user;
    world->loads++;
    (void)snprintf(world->key, sizeof world->key, "%s", key);
    size_t size = data && world->shrinks_to > 0 ? world->shrinks_to : world->blob_bytes;
    if (data && capacity >= size)
        memcpy(data, world->blob, size);
    return size;
}

static void save(void *user, const char *key, const void *data, size_t size_bytes)
{
    cache_world *world = user;
    world->saves++;
    (void)snprintf(world->key, sizeof world->key, "%s", key);
    assert_int_equal(size_bytes, BLOB_BYTES);
    memcpy(world->blob, data, size_bytes);
    world->blob_bytes = size_bytes;
}

static void init_world(cache_world *world)
{
    vkf_test_random random;
    memset(world, 0, sizeof *world);
    world->host = recording_host(&world->record);
    world->instance.host = &world->host;
    world->device.host = &world->host;
    world->device.instance = &world->instance;
    world->device.plan.caps = discrete_caps();
    world->device.plan.caps.vendor_id = 0x10de;
    world->device.plan.caps.device_id = 0x2204;
    world->device.plan.caps.driver_version = 77;
    memset(world->device.plan.caps.pipeline_cache_uuid, 0xab, VKF_UUID_SIZE);
    world->device.vk.vkGetPipelineCacheData = get_data;
    world->device.vk.vkCreatePipelineCache = create_cache;
    world->callbacks = (vkf_cache_callbacks){load, save, world};
    driver_result = VK_SUCCESS;
    initial_bytes = 0;
    vkf_test_random_init(&random, 7);
    for (size_t i = 0; i < PAYLOAD_BYTES; i++)
        payload[i] = (uint8_t)vkf_test_random_below(&random, 256);
}

static vkf_status create(cache_world *world)
{
    VkPipelineCache cache = VK_NULL_HANDLE;
    initial_bytes = 12345;
    vkf_status status = vkf__pipeline_cache_create(&world->device, &world->callbacks, &cache);
    assert_int_equal(status == VKF_OK, cache != VK_NULL_HANDLE);
    return status;
}

static void saved_world(cache_world *world)
{
    init_world(world);
    assert_int_equal(vkf__pipeline_cache_save(&world->device, &world->callbacks, (VkPipelineCache)(uintptr_t)0x1234),
                     VKF_OK);
    assert_int_equal(world->saves, 1);
}

static void test_cache_saved_is_loaded(void **state)
{
    (void)state;
    cache_world world;
    saved_world(&world);
    assert_int_equal(create(&world), VKF_OK);
    assert_int_equal(initial_bytes, PAYLOAD_BYTES);
    assert_memory_equal(initial_data, payload, PAYLOAD_BYTES);
    assert_int_equal(world.record.count, 0);
}

static void assert_ignored(cache_world *world, const char *what)
{
    world->record.count = 0;
    assert_int_equal(create(world), VKF_OK);
    if (initial_bytes != 0 || world->record.count != 1 || world->record.severity != VKF_SEVERITY_WARNING)
        fail_msg("%s: the driver got %zu bytes, %d messages", what, initial_bytes, world->record.count);
    assert_said(&world->record, world->key);
}

static void test_cache_any_flipped_bit_is_noticed(void **state)
{
    (void)state;
    cache_world world;
    char what[64];
    saved_world(&world);
    for (size_t bit = 0; bit < (size_t)8 * BLOB_BYTES; bit++) {
        (void)snprintf(what, sizeof what, "bit %zu of byte %zu", bit % 8, bit / 8);
        world.blob[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_ignored(&world, what);
        world.blob[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    world.record.count = 0;
    assert_int_equal(create(&world), VKF_OK);
    assert_int_equal(initial_bytes, PAYLOAD_BYTES);
}

static void test_cache_of_another_length_is_ignored(void **state)
{
    (void)state;
    cache_world world;
    char what[64];
    saved_world(&world);
    for (size_t size = 1; size < BLOB_BYTES + 16; size++) {
        (void)snprintf(what, sizeof what, "%zu bytes", size);
        world.blob_bytes = size;
        if (size != BLOB_BYTES)
            assert_ignored(&world, what);
    }
    // A file that shrinks between being measured and being read.
    world.blob_bytes = BLOB_BYTES;
    world.shrinks_to = 100;
    assert_ignored(&world, "shrunk");
}

static void test_cache_of_another_device_is_ignored(void **state)
{
    (void)state;
    cache_world world;
    saved_world(&world);
    const vkf__caps own = world.device.plan.caps;
#define FOREIGN(change)                               \
    do {                                              \
        vkf__caps *caps = &world.device.plan.caps;    \
        change;                                       \
        assert_ignored(&world, #change);              \
        assert_said(&world.record, "another device"); \
        *caps = own;                                  \
    } while (0)
    FOREIGN(caps->vendor_id++);
    FOREIGN(caps->device_id++);
    FOREIGN(caps->driver_version++);
    FOREIGN(caps->pipeline_cache_uuid[15]++);
#undef FOREIGN
}

static void test_cache_none_and_without_callbacks(void **state)
{
    (void)state;
    cache_world world;
    init_world(&world);
    assert_int_equal(create(&world), VKF_OK);
    assert_int_equal(initial_bytes, 0);
    assert_int_equal(world.loads, 1);
    world.callbacks = (vkf_cache_callbacks){0};
    assert_int_equal(create(&world), VKF_OK);
    assert_int_equal(vkf__pipeline_cache_save(&world.device, &world.callbacks, (VkPipelineCache)(uintptr_t)1), VKF_OK);
    assert_int_equal(world.record.count, 0);
}

static void test_cache_driver_failures(void **state)
{
    (void)state;
    cache_world world;
    saved_world(&world);
    driver_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    assert_int_equal(create(&world), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(vkf__pipeline_cache_save(&world.device, &world.callbacks, (VkPipelineCache)(uintptr_t)1),
                     VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(world.saves, 1);
    driver_result = VK_SUCCESS;
    assert_int_equal(vkf__pipeline_cache_save(&world.device, &world.callbacks, VK_NULL_HANDLE), VKF_OK);
    world.device.lost = true;
    assert_int_equal(vkf__pipeline_cache_save(&world.device, &world.callbacks, (VkPipelineCache)(uintptr_t)1), VKF_OK);
    assert_int_equal(world.saves, 1);
}

static void test_cache_key_has_the_promised_characters(void **state)
{
    (void)state;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    vkf__caps caps = discrete_caps(), other;
    char key[96], other_key[96];
    memset(caps.pipeline_cache_uuid, 0xff, VKF_UUID_SIZE);
    caps.vendor_id = UINT32_MAX;
    vkf__pipeline_cache_key(&caps, key, sizeof key);
    assert_int_equal(strspn(key, allowed), strlen(key));
    other = caps;
    other.pipeline_cache_uuid[15] = 0;
    vkf__pipeline_cache_key(&other, other_key, sizeof other_key);
    assert_string_not_equal(key, other_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_saved_is_loaded),
        cmocka_unit_test(test_cache_any_flipped_bit_is_noticed),
        cmocka_unit_test(test_cache_of_another_length_is_ignored),
        cmocka_unit_test(test_cache_of_another_device_is_ignored),
        cmocka_unit_test(test_cache_none_and_without_callbacks),
        cmocka_unit_test(test_cache_driver_failures),
        cmocka_unit_test(test_cache_key_has_the_promised_characters),
    };
    return cmocka_run_group_tests_name("pipeline cache", tests, NULL, NULL);
}
