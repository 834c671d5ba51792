// What a driver tells of cooperative matrices, from a driver written by hand.
#include "caps_fixture.h"

#define F16 VK_COMPONENT_TYPE_FLOAT16_KHR
#define F32 VK_COMPONENT_TYPE_FLOAT32_KHR
#define BF16 VK_COMPONENT_TYPE_BFLOAT16_KHR

// The driver. Functions of Vulkan have no argument for a test's own data.
static struct {
    bool matrix, bfloat16, matrix2;
    VkShaderStageFlags stages;
    uint32_t shape_count;
    VkCooperativeMatrixPropertiesKHR shapes[VKF_MATRIX_MAX_SHAPES + 8];
    VkResult result;
    bool asked_for_matrix2;
    const char *extensions[4];
    uint32_t extension_count;
    VkDriverId id;
    bool asked_for_shapes;
} driver;

static VKAPI_ATTR void VKAPI_CALL get_basics(VkPhysicalDevice device, VkPhysicalDeviceProperties *properties)
{
    (void)device;
    properties->apiVersion = VK_API_VERSION_1_1;
    properties->vendorID = 0x1002;
    properties->deviceID = 0x1114; // of the report from which the driver's fault is known
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

static VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice device, uint32_t *count,
                                               VkQueueFamilyProperties *families)
{
    (void)device;
    (void)families;
    *count = 0;
}

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *memory)
{
    (void)device;
    (void)memory;
}

static VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice device, const char *layer, uint32_t *count,
                                                      VkExtensionProperties *extensions)
{
    (void)device;
    (void)layer;
    *count = driver.extension_count;
    for (uint32_t i = 0; extensions && i < *count; i++)
        (void)snprintf(extensions[i].extensionName, sizeof extensions[i].extensionName, "%s", driver.extensions[i]);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *features)
{
    (void)device;
    for (VkBaseOutStructure *link = features->pNext; link; link = link->pNext) {
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR)
            ((VkPhysicalDeviceCooperativeMatrixFeaturesKHR *)(void *)link)->cooperativeMatrix = driver.matrix;
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR)
            *(VkPhysicalDeviceShaderBfloat16FeaturesKHR *)(void *)link = (VkPhysicalDeviceShaderBfloat16FeaturesKHR){
                .sType = link->sType,
                .pNext = link->pNext,
                .shaderBFloat16Type = VK_TRUE,
                .shaderBFloat16CooperativeMatrix = driver.bfloat16,
            };
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV) {
            VkPhysicalDeviceCooperativeMatrix2FeaturesNV *matrix2 = (void *)link;
            driver.asked_for_matrix2 = true;
            matrix2->cooperativeMatrixFlexibleDimensions = driver.matrix2;
            matrix2->cooperativeMatrixPerElementOperations = driver.matrix2;
        }
    }
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *properties)
{
    (void)device;
    for (VkBaseOutStructure *link = properties->pNext; link; link = link->pNext) {
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR)
            ((VkPhysicalDeviceCooperativeMatrixPropertiesKHR *)(void *)link)->cooperativeMatrixSupportedStages =
                driver.stages;
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV)
            *(VkPhysicalDeviceShaderSMBuiltinsPropertiesNV *)(void *)link =
                (VkPhysicalDeviceShaderSMBuiltinsPropertiesNV){link->sType, link->pNext, 132, 64};
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD)
            *(VkPhysicalDeviceShaderCorePropertiesAMD *)(void *)link =
                (VkPhysicalDeviceShaderCorePropertiesAMD){.sType = link->sType,
                                                          .pNext = link->pNext,
                                                          .shaderEngineCount = 6,
                                                          .shaderArraysPerEngineCount = 2,
                                                          .computeUnitsPerShaderArray = 8,
                                                          .simdPerComputeUnit = 2,
                                                          .wavefrontsPerSimd = 16};
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD)
            ((VkPhysicalDeviceShaderCoreProperties2AMD *)(void *)link)->activeComputeUnitCount = 84;
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM)
            *(VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM *)(void *)link =
                (VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM){
                    .sType = link->sType, .pNext = link->pNext, .shaderCoreCount = 11, .shaderWarpsPerCore = 64};
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES)
            ((VkPhysicalDeviceDriverProperties *)(void *)link)->driverID = driver.id;
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV)
            ((VkPhysicalDeviceCooperativeMatrix2PropertiesNV *)(void *)link)
                ->cooperativeMatrixFlexibleDimensionsMaxDimension = 512;
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL get_shapes(VkPhysicalDevice device, uint32_t *count,
                                                 VkCooperativeMatrixPropertiesKHR *shapes)
{
    (void)device;
    driver.asked_for_shapes = true;
    uint32_t given = driver.shape_count < *count ? driver.shape_count : *count;
    for (uint32_t i = 0; i < given; i++) {
        assert_int_equal(shapes[i].sType, VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
        shapes[i] = driver.shapes[i];
    }
    *count = given;
    return driver.result != VK_SUCCESS ? driver.result : given < driver.shape_count ? VK_INCOMPLETE : VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_flexible(VkPhysicalDevice device, uint32_t *count,
                                                   VkCooperativeMatrixFlexibleDimensionsPropertiesNV *shapes)
{
    (void)device;
    *count = 1;
    shapes[0] = (VkCooperativeMatrixFlexibleDimensionsPropertiesNV){
        .MGranularity = 16,
        .NGranularity = 32,
        .KGranularity = 8,
        .AType = F16,
        .BType = F16,
        .CType = F32,
        .ResultType = F32,
        .scope = VK_SCOPE_WORKGROUP_KHR,
        .workgroupInvocations = 128,
    };
    return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_proc(VkInstance instance, const char *name)
{
    (void)instance;
    if (strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") == 0)
        return (PFN_vkVoidFunction)get_shapes;
    if (strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV") == 0)
        return (PFN_vkVoidFunction)get_flexible;
    return NULL;
}

static VkCooperativeMatrixPropertiesKHR shape_of(uint32_t m, uint32_t n, uint32_t k, VkComponentTypeKHR type)
{
    return (VkCooperativeMatrixPropertiesKHR){
        .MSize = m,
        .NSize = n,
        .KSize = k,
        .AType = type,
        .BType = type,
        .CType = F32,
        .ResultType = F32,
        .scope = VK_SCOPE_SUBGROUP_KHR,
    };
}

static void reset_driver(void)
{
    memset(&driver, 0, sizeof driver);
    driver.matrix = driver.bfloat16 = driver.matrix2 = true;
    driver.stages = VK_SHADER_STAGE_COMPUTE_BIT;
    driver.shapes[0] = shape_of(8, 8, 8, F16);
    driver.shapes[1] = shape_of(16, 16, 16, F16);
    driver.shapes[2] = shape_of(16, 8, 8, BF16);
    driver.shape_count = 3;
}

// What is read of the driver with its first `extension_count` extensions.
static vkf__caps read_caps(uint32_t extension_count, bool matrices)
{
    message_record record;
    const vkf__host host = recording_host(&record);
    const vkf__instance instance = {
        .host = &host,
        .api_version = VK_API_VERSION_1_1,
        .get_proc = get_proc,
        .vkEnumerateDeviceExtensionProperties = list_extensions,
        .vkGetPhysicalDeviceProperties = get_basics,
        .vkGetPhysicalDeviceProperties2 = get_properties,
        .vkGetPhysicalDeviceFeatures2 = get_features,
        .vkGetPhysicalDeviceMemoryProperties2 = get_memory,
        .vkGetPhysicalDeviceQueueFamilyProperties = get_families,
    };
    vkf__caps caps;
    driver.extension_count = extension_count;
    assert_int_equal(vkf__caps_read(&instance, VK_NULL_HANDLE, matrices, &caps), VKF_OK);
    return caps;
}

// The first `extension_count` of cooperative_matrix, bfloat16, cooperative_matrix2 and driver_properties.
static vkf__caps_matrix caps_asked(uint32_t extension_count, bool matrices)
{
    driver.extensions[0] = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
    driver.extensions[1] = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
    driver.extensions[2] = VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME;
    driver.extensions[3] = VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME;
    return read_caps(extension_count, matrices).matrix;
}

static vkf__caps_matrix caps_of(uint32_t extension_count)
{
    return caps_asked(extension_count, true);
}

enum { ALL_EXTENSIONS = 3 };

static void test_matrix_read(void **state)
{
    (void)state;
    reset_driver();
    const vkf__caps_matrix caps = caps_of(ALL_EXTENSIONS);
    assert_true(caps.cooperative_matrix && caps.bfloat16 && caps.flexible_dimensions && caps.per_element_operations);
    assert_false(caps.tensor_addressing || caps.workgroup_scope || caps.conversions);
    assert_int_equal(caps.shape_count, 3);
    assert_int_equal(caps.shapes[2].m, 16);
    assert_int_equal(caps.shapes[2].n, 8);
    assert_int_equal(caps.flexible_count, 1);
    assert_int_equal(caps.flexible[0].n, 32);
    assert_int_equal(caps.flexible_max_dimension, 512);
}

static void test_matrix_read_without(void **state)
{
    const vkf__caps_matrix none = {0};
    (void)state;
    reset_driver();
    vkf__caps_matrix caps = caps_of(0);
    assert_memory_equal(&caps, &none, sizeof caps);
    caps = caps_of(1);
    assert_true(caps.cooperative_matrix);
    assert_false(caps.flexible_dimensions || caps.bfloat16 || driver.asked_for_matrix2);
    driver.matrix = false; // though it lists shapes
    caps = caps_of(ALL_EXTENSIONS);
    assert_false(caps.cooperative_matrix || caps.bfloat16 || caps.shape_count > 0);
    reset_driver();
    driver.stages = VK_SHADER_STAGE_FRAGMENT_BIT;
    caps = caps_of(ALL_EXTENSIONS);
    assert_memory_equal(&caps, &none, sizeof caps);
}

static void test_matrix_read_long_and_broken_lists(void **state)
{
    (void)state;
    reset_driver();
    driver.shape_count = VKF_MATRIX_MAX_SHAPES + 8;
    for (uint32_t i = 0; i < driver.shape_count; i++)
        driver.shapes[i] = shape_of(8 + i, 8, 8, F16);
    vkf__caps_matrix caps = caps_of(ALL_EXTENSIONS);
    assert_int_equal(caps.shape_count, VKF_MATRIX_MAX_SHAPES);
    assert_int_equal(caps.shapes[VKF_MATRIX_MAX_SHAPES - 1].m, 8 + VKF_MATRIX_MAX_SHAPES - 1);
    driver.result = VK_ERROR_OUT_OF_HOST_MEMORY;
    caps = caps_of(ALL_EXTENSIONS);
    assert_true(caps.cooperative_matrix);
    assert_int_equal(caps.shape_count, 0);
}

// The driver that crashes when it is asked for shapes is not asked, nor is any other where a mask or a profile leaves
// no matrices.
static void test_matrix_shapes_are_not_asked_for(void **state)
{
    const char *const masks[] = {"subgroupSize=8", "cooperativeMatrix"};
    const vkf__caps_matrix none = {0};
    (void)state;
    reset_driver();
    driver.id = VK_DRIVER_ID_AMD_PROPRIETARY;
    vkf__caps_matrix caps = caps_of(4);
    assert_memory_equal(&caps, &none, sizeof caps);
    assert_false(driver.asked_for_shapes);
    driver.id = VK_DRIVER_ID_MESA_RADV;
    caps = caps_asked(4, false);
    assert_memory_equal(&caps, &none, sizeof caps);
    assert_false(driver.asked_for_shapes);
    caps = caps_of(4);
    assert_true(driver.asked_for_shapes && caps.shape_count > 0);
    assert_true(vkf__caps_keeps_matrices(VKF_CAPS_PROFILE_FULL, masks, 1));
    assert_false(vkf__caps_keeps_matrices(VKF_CAPS_PROFILE_FULL, masks, 2));
    assert_false(vkf__caps_keeps_matrices(VKF_CAPS_PROFILE_ANDROID_2025, NULL, 0));
}

static void test_matrix_find(void **state)
{
    (void)state;
    reset_driver();
    vkf__caps_matrix caps = caps_of(ALL_EXTENSIONS);
    assert_ptr_equal(vkf__matrix_find(&caps, F16, F32, 0, 0, 0), &caps.shapes[1]);
    assert_ptr_equal(vkf__matrix_find(&caps, BF16, F32, 0, 0, 0), &caps.shapes[2]);
    assert_null(vkf__matrix_find(&caps, F32, F32, 0, 0, 0));
#define PASSED_OVER(field, value)                                                        \
    do {                                                                                 \
        vkf__caps_matrix other = caps;                                                   \
        other.shapes[1].field = (value);                                                 \
        assert_ptr_equal(vkf__matrix_find(&other, F16, F32, 0, 0, 0), &other.shapes[0]); \
    } while (0)
    PASSED_OVER(saturating, true);
    PASSED_OVER(scope, VK_SCOPE_WORKGROUP_KHR);
    PASSED_OVER(result_type, F16);
    PASSED_OVER(c_type, F16);
    PASSED_OVER(b_type, BF16);
    PASSED_OVER(k, 12);
    PASSED_OVER(n, 0);
#undef PASSED_OVER
    assert_null(vkf__matrix_find(&caps, F16, F16, 0, 0, 0));
    caps.shapes[0].c_type = caps.shapes[0].result_type = F16;
    assert_ptr_equal(vkf__matrix_find(&caps, F16, F16, 0, 0, 0), &caps.shapes[0]);
    assert_ptr_equal(vkf__matrix_find(&caps, F16, F32, 0, 0, 0), &caps.shapes[1]);
    caps.shapes[0] = caps.shapes[1]; // of equals the first
    assert_ptr_equal(vkf__matrix_find(&caps, F16, F32, 0, 0, 0), &caps.shapes[0]);
}

static void test_matrix_find_flexible(void **state)
{
    (void)state;
    reset_driver();
    const vkf__caps_matrix caps = caps_of(ALL_EXTENSIONS);
    const VkScopeKHR workgroup = VK_SCOPE_WORKGROUP_KHR;
    assert_ptr_equal(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 128, 48, 64, 24), &caps.flexible[0]);
    assert_non_null(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 128, 512, 512, 512));
    assert_null(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 128, 528, 64, 24));
    assert_null(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 256, 48, 64, 24));
    assert_null(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 128, 8, 64, 24));
    assert_null(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 128, 48, 16, 24));
    assert_null(vkf__matrix_find_flexible(&caps, F16, F32, workgroup, 128, 48, 64, 4));
    assert_null(vkf__matrix_find_flexible(&caps, BF16, F32, workgroup, 128, 48, 64, 24));
    assert_null(vkf__matrix_find_flexible(&caps, F16, F32, VK_SCOPE_SUBGROUP_KHR, 128, 48, 64, 24));
}

// By each vendor's extension; AMD's second one knows which compute units are switched off.
static void test_cores_by_vendor(void **state)
{
    static const struct {
        const char *extensions[2];
        uint32_t count, cores, subgroups;
    } rows[] = {
        {{VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME}, 1, 132, 64},
        {{VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME}, 1, 96, 32},
        {{VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME}, 2, 84, 32},
        {{VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME}, 1, 11, 64},
        {{VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME}, 1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset_driver();
        driver.extensions[0] = rows[i].extensions[0];
        driver.extensions[1] = rows[i].extensions[1];
        const vkf__caps caps = read_caps(rows[i].count, true);
        assert_int_equal(caps.shader_cores, rows[i].cores);
        assert_int_equal(caps.core_subgroups, rows[i].subgroups);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_read),
        cmocka_unit_test(test_matrix_read_without),
        cmocka_unit_test(test_matrix_read_long_and_broken_lists),
        cmocka_unit_test(test_matrix_shapes_are_not_asked_for),
        cmocka_unit_test(test_cores_by_vendor),
        cmocka_unit_test(test_matrix_find),
        cmocka_unit_test(test_matrix_find_flexible),
    };
    return cmocka_run_group_tests_name("caps_matrix", tests, NULL, NULL);
}
