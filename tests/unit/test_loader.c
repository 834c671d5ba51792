// The loader against a Vulkan loader made of a few functions of our own: what goes wrong on users' machines.
#include "caps_fixture.h"

#include "vk/device.h"

// What the made-up loader does; set by each test.
static struct {
    uint32_t version;
    const char *hidden; // function that it does not know
    const char *layer;  // the one layer that it lists
    const char *extension;
    VkResult create_result;
    int instances; // alive
    VkInstanceCreateFlags flags;
    uint32_t enabled; // extensions
} fake;

static VKAPI_ATTR VkResult VKAPI_CALL fake_version(uint32_t *out_version)
{
    *out_version = fake.version;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_extensions(const char *layer, uint32_t *count, VkExtensionProperties *items)
{
    (void)layer;
    *count = fake.extension ? 1 : 0;
    if (items && fake.extension)
        (void)snprintf(items[0].extensionName, sizeof items[0].extensionName, "%s", fake.extension);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_layers(uint32_t *count, VkLayerProperties *items)
{
    *count = fake.layer ? 1 : 0;
    if (items && fake.layer)
        (void)snprintf(items[0].layerName, sizeof items[0].layerName, "%s", fake.layer);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL fake_create(const VkInstanceCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkInstance *out_instance)
{
    (void)allocator;
    if (fake.create_result != VK_SUCCESS)
        return fake.create_result;
    assert_int_equal(info->pApplicationInfo->apiVersion,
                     fake.version < VK_API_VERSION_1_3 ? fake.version : VK_API_VERSION_1_3);
    fake.instances++;
    fake.flags = info->flags;
    fake.enabled = info->enabledExtensionCount;
    *out_instance = (VkInstance)(uintptr_t)0x100;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL fake_destroy(VkInstance instance, const VkAllocationCallbacks *allocator)
{
    (void)allocator;
    assert_ptr_equal(instance, (VkInstance)(uintptr_t)0x100);
    fake.instances--;
}

// Stands for every function that the tests never call.
static VKAPI_ATTR void VKAPI_CALL fake_uncalled(void)
{
    fail_msg("a function was called that no test expects");
}

static vkf_void_function fake_get_proc(void *instance, const char *name)
{
    static const struct {
        const char *name;
        vkf_void_function function;
    } rows[] = {
        {"vkEnumerateInstanceVersion", (vkf_void_function)fake_version},
        {"vkEnumerateInstanceExtensionProperties", (vkf_void_function)fake_extensions},
        {"vkEnumerateInstanceLayerProperties", (vkf_void_function)fake_layers},
        {"vkCreateInstance", (vkf_void_function)fake_create},
        {"vkDestroyInstance", (vkf_void_function)fake_destroy},
    };
    if (fake.hidden && strcmp(fake.hidden, name) == 0)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].function;
    return instance ? fake_uncalled : NULL;
}

static vkf_void_function no_get_proc(void *instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

static const vkf__instance_desc fake_desc = {.get_instance_proc_addr = fake_get_proc};

static int reset_fake(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.version = VK_MAKE_API_VERSION(0, 1, 3, 280);
    return 0;
}

static void assert_zeroed(const vkf__instance *instance)
{
    static const vkf__instance zero;
    assert_null(instance->handle);
    assert_null(instance->host);
    assert_null(instance->library);
    assert_null(instance->vkDestroyInstance);
    assert_int_equal(instance->api_version, zero.api_version);
    assert_int_equal(fake.instances, 0);
}

static void assert_refused(const vkf__instance_desc *desc, vkf_status status, const char *said)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__instance instance;
    memset(&instance, 0x5a, sizeof instance);
    assert_int_equal(vkf__instance_init(&instance, &host, desc), status);
    assert_zeroed(&instance);
    assert_int_equal(record.severity, VKF_SEVERITY_ERROR);
    assert_said(&record, said);
}

static void test_instance_init_and_finish(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__instance instance;
    (void)state;
    assert_int_equal(vkf__instance_init(&instance, &host, &fake_desc), VKF_OK);
    assert_int_equal(instance.api_version, VK_API_VERSION_1_3);
    assert_int_equal(fake.instances, 1);
    assert_false(instance.debug_utils);
    assert_null(instance.vkSetDebugUtilsObjectNameEXT);
    vkf__instance_finish(&instance);
    assert_zeroed(&instance);
    vkf__instance_finish(&instance);
    assert_int_equal(record.count, 0);
}

static void test_instance_init_older_loader(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__instance instance;
    (void)state;
    fake.version = VK_MAKE_API_VERSION(0, 1, 1, 70);
    assert_int_equal(vkf__instance_init(&instance, &host, &fake_desc), VKF_OK);
    assert_int_equal(instance.api_version, VK_MAKE_API_VERSION(0, 1, 1, 70));
    vkf__instance_finish(&instance);
}

// As on macOS, where the loader lists MoltenVK's device alone to those that ask for incomplete drivers, too.
static void test_instance_init_asks_for_portability_where_it_is_offered(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__instance instance;
    (void)state;
    assert_int_equal(vkf__instance_init(&instance, &host, &fake_desc), VKF_OK);
    assert_int_equal(fake.flags, 0);
    assert_int_equal(fake.enabled, 0);
    vkf__instance_finish(&instance);
    fake.extension = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    assert_int_equal(vkf__instance_init(&instance, &host, &fake_desc), VKF_OK);
    assert_int_equal(fake.flags, VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR);
    assert_int_equal(fake.enabled, 1);
    vkf__instance_finish(&instance);
}

static void test_instance_init_no_vulkan(void **state)
{
    const vkf__instance_desc nothing = {.get_instance_proc_addr = no_get_proc};
    (void)state;
    assert_refused(&nothing, VKF_ERROR_NO_VULKAN, "install a Vulkan loader of version 1.1 or later and a driver");
    fake.create_result = VK_ERROR_INCOMPATIBLE_DRIVER;
    assert_refused(&fake_desc, VKF_ERROR_NO_VULKAN, "no Vulkan driver was found: install");
    assert_refused(&fake_desc, VKF_ERROR_NO_VULKAN, "VK_DRIVER_FILES or VK_ICD_FILENAMES may name no file of its");
    assert_refused(&fake_desc, VKF_ERROR_NO_VULKAN, "(ulimit -v) was too small");
}

static void test_instance_init_vulkan_1_0(void **state)
{
    (void)state;
    fake.hidden = "vkEnumerateInstanceVersion";
    assert_refused(&fake_desc, VKF_ERROR_NO_VULKAN, "knows Vulkan 1.0 alone: install a Vulkan loader of version 1.1");
    fake.hidden = NULL;
    fake.version = VK_API_VERSION_1_0;
    assert_refused(&fake_desc, VKF_ERROR_NO_VULKAN, "knows Vulkan 1.0 alone");
}

static void test_instance_init_missing_function(void **state)
{
    (void)state;
    fake.hidden = "vkGetPhysicalDeviceFeatures2";
    assert_refused(&fake_desc, VKF_ERROR_NO_VULKAN, "no function vkGetPhysicalDeviceFeatures2");
}

static void test_instance_init_create_fails(void **state)
{
    (void)state;
    fake.create_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    assert_refused(&fake_desc, VKF_ERROR_VULKAN, "vkCreateInstance: VK_ERROR_OUT_OF_HOST_MEMORY");
    assert_refused(&fake_desc, VKF_ERROR_VULKAN, "the manifest of a driver or layer is no JSON");
    fake.create_result = VK_ERROR_INITIALIZATION_FAILED;
    assert_refused(&fake_desc, VKF_ERROR_VULKAN, "vulkaninfo");
}

static void test_instance_init_validation_not_installed(void **state)
{
    vkf__instance_desc desc = fake_desc;
    (void)state;
    desc.validation = true;
    assert_refused(&desc, VKF_ERROR_UNSUPPORTED, "vulkan-validationlayers");
    fake.layer = "VK_LAYER_KHRONOS_validation_not";
    assert_refused(&desc, VKF_ERROR_UNSUPPORTED, "VK_LAYER_KHRONOS_validation is not installed");
    fake.layer = "VK_LAYER_KHRONOS_validation";
    assert_refused(&desc, VKF_ERROR_UNSUPPORTED, "VK_EXT_debug_utils is missing");
}

static void test_instance_init_external(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__instance instance;
    vkf__instance_desc desc = fake_desc;
    (void)state;
    desc.external = (VkInstance)(uintptr_t)0x200;
    desc.external_api_version = VK_API_VERSION_1_2;
    fake.extension = "VK_EXT_debug_utils";
    assert_int_equal(vkf__instance_init(&instance, &host, &desc), VKF_OK);
    assert_int_equal(instance.api_version, VK_API_VERSION_1_2);
    assert_false(instance.debug_utils);
    vkf__instance_finish(&instance); // fake_destroy would refuse the handle
    assert_zeroed(&instance);
    desc.external_api_version = VK_API_VERSION_1_0;
    assert_refused(&desc, VKF_ERROR_NO_VULKAN, "created for Vulkan 1.0");
}

static void test_vulkan_status_maps(void **state)
{
    static const struct {
        VkResult result;
        vkf_status status;
        const char *said;
    } rows[] = {
        {VK_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_HOST_MEMORY, "here: VK_ERROR_OUT_OF_HOST_MEMORY: "},
        {VK_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY, "smaller maximum sizes"},
        {VK_ERROR_DEVICE_LOST, VKF_ERROR_DEVICE_LOST, "destroy the context"},
        {VK_ERROR_FRAGMENTED_POOL, VKF_ERROR_VULKAN, "VK_ERROR_FRAGMENTED_POOL"},
        {VK_TIMEOUT, VKF_ERROR_VULKAN, "VK_TIMEOUT"},
        {(VkResult)-1000999999, VKF_ERROR_VULKAN, "VkResult -1000999999"},
    };
    message_record record;
    vkf__host host = recording_host(&record);
    (void)state;
    assert_int_equal(vkf__vulkan_status(&host, VK_SUCCESS, "here"), VKF_OK);
    assert_int_equal(record.count, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(vkf__vulkan_status(&host, rows[i].result, "here"), rows[i].status);
        assert_said(&record, rows[i].said);
    }
}

// Every core result (0 to -13 and the 1.1 to 1.3 additions) has a row of its own.
static void test_vulkan_status_knows_core_results(void **state)
{
    static const VkResult later[] = {VK_ERROR_OUT_OF_POOL_MEMORY, VK_ERROR_INVALID_EXTERNAL_HANDLE,
                                     VK_ERROR_FRAGMENTATION, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS,
                                     VK_PIPELINE_COMPILE_REQUIRED};
    message_record record;
    vkf__host host = recording_host(&record);
    (void)state;
    for (int result = VK_ERROR_UNKNOWN; result <= VK_INCOMPLETE; result++) {
        if (result == VK_SUCCESS)
            continue;
        assert_int_not_equal(vkf__vulkan_status(&host, (VkResult)result, "here"), VKF_OK);
        assert_said(&record, "here: VK_");
    }
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        assert_int_equal(vkf__vulkan_status(&host, later[i], "here"), VKF_ERROR_VULKAN);
        assert_said(&record, "here: VK_");
    }
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fake_device_proc(VkDevice device, const char *name)
{
    (void)device;
    if ((fake.hidden && strcmp(fake.hidden, name) == 0) || strstr(name, "KHR"))
        return NULL;
    return (PFN_vkVoidFunction)fake_uncalled;
}

static void test_volk_table_load(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    struct VolkDeviceTable table = {0};
    (void)state;
    fake.hidden = "vkCmdDispatchIndirect";
    assert_int_equal(vkf__volk_table_load(&host, fake_device_proc, VK_NULL_HANDLE, &table), VKF_ERROR_VULKAN);
    assert_said(&record, "vkCmdDispatchIndirect");
    assert_null(table.vkCmdDispatch);
    fake.hidden = NULL;
    assert_int_equal(vkf__volk_table_load(&host, fake_device_proc, VK_NULL_HANDLE, &table), VKF_OK);
    assert_non_null(table.vkCmdDispatchIndirect);
    assert_null(table.vkGetPipelineExecutableStatisticsKHR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_instance_init_and_finish, reset_fake),
        cmocka_unit_test_setup(test_instance_init_older_loader, reset_fake),
        cmocka_unit_test_setup(test_instance_init_asks_for_portability_where_it_is_offered, reset_fake),
        cmocka_unit_test_setup(test_instance_init_no_vulkan, reset_fake),
        cmocka_unit_test_setup(test_instance_init_vulkan_1_0, reset_fake),
        cmocka_unit_test_setup(test_instance_init_missing_function, reset_fake),
        cmocka_unit_test_setup(test_instance_init_create_fails, reset_fake),
        cmocka_unit_test_setup(test_instance_init_validation_not_installed, reset_fake),
        cmocka_unit_test_setup(test_instance_init_external, reset_fake),
        cmocka_unit_test(test_vulkan_status_maps),
        cmocka_unit_test(test_vulkan_status_knows_core_results),
        cmocka_unit_test_setup(test_volk_table_load, reset_fake),
    };
    return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}
