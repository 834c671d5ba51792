// Finds the Vulkan loader, makes an instance or adopts the caller's, and forwards Vulkan's messages.
#include "vk/loader.h"

#include <string.h>

#include "base/shared_library.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

// The names of a system's Vulkan loader, in the order in which they are tried, and who brings it. Without a loader
// MoltenVK serves alone. From macOS 15 on the places of Homebrew are not looked through for a bare name.
#if defined(_WIN32)
#define LOADER_NAMES "vulkan-1.dll"
#define WHO_BRINGS_IT "on Windows the GPU vendor's driver brings both"
#elif defined(__APPLE__)
#define LOADER_NAMES                                                                                    \
    "libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib", "/opt/homebrew/lib/libvulkan.1.dylib", \
        "/usr/local/lib/libvulkan.1.dylib", "/opt/homebrew/lib/libMoltenVK.dylib", "/usr/local/lib/libMoltenVK.dylib"
#define WHO_BRINGS_IT "on macOS: the Vulkan SDK, or Homebrew's vulkan-loader and molten-vk"
#else
#define LOADER_NAMES "libvulkan.so.1", "libvulkan.so"
#define WHO_BRINGS_IT "on Debian and Ubuntu: libvulkan1 and mesa-vulkan-drivers, or the GPU vendor's driver"
#endif

#define INSTALL_ADVICE "install a Vulkan loader of version 1.1 or later and a driver (" WHO_BRINGS_IT ")"

// The functions that need no instance.
typedef struct global_functions {
    PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion; // absent in a loader for Vulkan 1.0
    PFN_vkEnumerateInstanceExtensionProperties vkEnumerateInstanceExtensionProperties;
    PFN_vkEnumerateInstanceLayerProperties vkEnumerateInstanceLayerProperties;
    PFN_vkCreateInstance vkCreateInstance;
} global_functions;

typedef struct instance_request {
    const char *extensions[4];
    uint32_t extension_count;
    const char *layers[1];
    uint32_t layer_count;
    VkInstanceCreateFlags flags;
    bool debug_utils;
    bool validation_features;
} instance_request;

static vkf_status open_library(vkf__instance *instance)
{
    static const char *const names[] = {LOADER_NAMES};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *why = NULL;
        instance->library = vkf__library_open(names[i], &why);
        if (!instance->library)
            continue;
        instance->get_proc = (PFN_vkGetInstanceProcAddr)vkf__library_find(instance->library, "vkGetInstanceProcAddr");
        if (instance->get_proc)
            return VKF_OK;
        vkf__library_close(instance->library);
        instance->library = NULL;
    }
    return vkf__fail(instance->host, VKF_ERROR_NO_VULKAN, "no Vulkan loader library %s was found: " INSTALL_ADVICE,
                     names[0]);
}

// The loader has no code of its own for a manifest that it cannot parse and gives OUT_OF_HOST_MEMORY instead. That is
// not passed on: a caller who frees memory and tries again would do so for ever.
static vkf_status loader_status(const vkf__instance *instance, VkResult result, const char *where)
{
    if (result != VK_ERROR_OUT_OF_HOST_MEMORY)
        return vkf__vulkan_status(instance->host, result, where);
    return vkf__fail(
        instance->host, VKF_ERROR_VULKAN,
        "%s: VK_ERROR_OUT_OF_HOST_MEMORY: the manifest of a driver or layer is no JSON that the loader can read "
        "(see the files that VK_DRIVER_FILES, VK_ICD_FILENAMES and VK_LAYER_PATH name), or host memory is "
        "exhausted",
        where);
}

static vkf_status load_globals(const vkf__instance *instance, global_functions *out_globals)
{
    global_functions globals = {0};
#define LOAD_FUNCTION(name) globals.name = (PFN_##name)instance->get_proc(VK_NULL_HANDLE, #name);
    LOAD_FUNCTION(vkEnumerateInstanceVersion)
    LOAD_FUNCTION(vkEnumerateInstanceExtensionProperties)
    LOAD_FUNCTION(vkEnumerateInstanceLayerProperties)
    LOAD_FUNCTION(vkCreateInstance)
#undef LOAD_FUNCTION
    if (!globals.vkEnumerateInstanceExtensionProperties || !globals.vkEnumerateInstanceLayerProperties ||
        !globals.vkCreateInstance)
        return vkf__fail(instance->host, VKF_ERROR_NO_VULKAN,
                         "vkGetInstanceProcAddr does not know vkCreateInstance and its like: " INSTALL_ADVICE);
    *out_globals = globals;
    return VKF_OK;
}

static vkf_status read_version(vkf__instance *instance, const global_functions *globals)
{
    uint32_t version = VK_API_VERSION_1_0;
    if (globals->vkEnumerateInstanceVersion) {
        VkResult result = globals->vkEnumerateInstanceVersion(&version);
        if (result != VK_SUCCESS)
            return vkf__vulkan_status(instance->host, result, "vkEnumerateInstanceVersion");
    }
    if (version < VK_API_VERSION_1_1)
        return vkf__fail(instance->host, VKF_ERROR_NO_VULKAN,
                         "the Vulkan loader knows Vulkan %u.%u alone: " INSTALL_ADVICE, VK_API_VERSION_MAJOR(version),
                         VK_API_VERSION_MINOR(version));
    instance->api_version = version < VK_API_VERSION_1_3 ? version : VK_API_VERSION_1_3;
    return VKF_OK;
}

// Looks for an extension in what a layer offers, or for `layer` NULL in what the loader and its drivers offer.
static vkf_status find_extension(const vkf__instance *instance, const global_functions *globals, const char *layer,
                                 const char *name, bool *out_found)
{
    vkf_status status = VKF_OK;
    VkExtensionProperties *items = NULL;
    VkResult result = VK_INCOMPLETE;
    uint32_t count = 0;
    bool found = false;

    while (result == VK_INCOMPLETE) {
        vkf__free(instance->host, items);
        items = NULL;
        result = globals->vkEnumerateInstanceExtensionProperties(layer, &count, NULL);
        if (result != VK_SUCCESS || count == 0)
            break;
        VKF_ALLOC(instance->host, items, count);
        result = globals->vkEnumerateInstanceExtensionProperties(layer, &count, items);
    }
    VKF_TRY(loader_status(instance, result, "vkEnumerateInstanceExtensionProperties"));
    for (uint32_t i = 0; i < count && !found; i++)
        found = strncmp(items[i].extensionName, name, VK_MAX_EXTENSION_NAME_SIZE) == 0;
    *out_found = found;
fail:
    vkf__free(instance->host, items);
    return status;
}

static vkf_status find_validation_layer(const vkf__instance *instance, const global_functions *globals)
{
    vkf_status status = VKF_OK;
    VkLayerProperties *items = NULL;
    VkResult result = VK_INCOMPLETE;
    uint32_t count = 0;
    bool found = false;

    while (result == VK_INCOMPLETE) {
        vkf__free(instance->host, items);
        items = NULL;
        result = globals->vkEnumerateInstanceLayerProperties(&count, NULL);
        if (result != VK_SUCCESS || count == 0)
            break;
        VKF_ALLOC(instance->host, items, count);
        result = globals->vkEnumerateInstanceLayerProperties(&count, items);
    }
    VKF_TRY(loader_status(instance, result, "vkEnumerateInstanceLayerProperties"));
    for (uint32_t i = 0; i < count && !found; i++)
        found = strncmp(items[i].layerName, VALIDATION_LAYER, VK_MAX_EXTENSION_NAME_SIZE) == 0;
    if (!found)
        status = vkf__fail(instance->host, VKF_ERROR_UNSUPPORTED,
                           "validation was asked for, but " VALIDATION_LAYER " is not installed: install it (on Debian "
                           "and Ubuntu: vulkan-validationlayers; elsewhere: the Vulkan SDK) or switch validation off");
fail:
    vkf__free(instance->host, items);
    return status;
}

// Asks for an extension where the loader, its drivers or the requested layers offer it.
static vkf_status request_extension(const vkf__instance *instance, const global_functions *globals,
                                    instance_request *request, const char *name, bool *out_found)
{
    bool found = false;
    VKF_RETURN_IF_ERROR(find_extension(instance, globals, NULL, name, &found));
    for (uint32_t i = 0; i < request->layer_count && !found; i++)
        VKF_RETURN_IF_ERROR(find_extension(instance, globals, request->layers[i], name, &found));
    if (found)
        request->extensions[request->extension_count++] = name;
    *out_found = found;
    return VKF_OK;
}

static vkf_status make_request(const vkf__instance *instance, const global_functions *globals, bool validation,
                               instance_request *out_request)
{
    instance_request request = {0};
    bool portability = false;

    if (validation) {
        VKF_RETURN_IF_ERROR(find_validation_layer(instance, globals));
        request.layers[request.layer_count++] = VALIDATION_LAYER;
        VKF_RETURN_IF_ERROR(request_extension(instance, globals, &request, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME,
                                              &request.validation_features));
    }
    VKF_RETURN_IF_ERROR(
        request_extension(instance, globals, &request, VK_EXT_DEBUG_UTILS_EXTENSION_NAME, &request.debug_utils));
    VKF_RETURN_IF_ERROR(
        request_extension(instance, globals, &request, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME, &portability));
    if (portability)
        request.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    if (validation && !request.debug_utils)
        return vkf__fail(instance->host, VKF_ERROR_UNSUPPORTED,
                         "validation was asked for, but " VK_EXT_DEBUG_UTILS_EXTENSION_NAME
                         " is missing, so that its messages could not be heard: update the Vulkan loader");
    if (validation && !request.validation_features)
        vkf__log(instance->host, VKF_SEVERITY_WARNING,
                 VALIDATION_LAYER " has no " VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME
                                  ": synchronisation is not validated");
    *out_request = request;
    return VKF_OK;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL forward_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                      VkDebugUtilsMessageTypeFlagsEXT types,
                                                      const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    const vkf__host *host = user;
    const VkDebugUtilsMessageTypeFlagsEXT from_layers =
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
    // General messages are the loader's: a driver that it could not load is not this library's fault.
    bool validation = (types & from_layers) != 0;
    (void)severity;
    vkf__log(host, validation ? VKF_SEVERITY_VALIDATION : VKF_SEVERITY_WARNING, "%s",
             data->pMessage ? data->pMessage : "a Vulkan message without text");
    return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(const vkf__host *host)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = forward_message,
        // The callback's type has no const, but forward_message only reads.
        .pUserData = (void *)(uintptr_t)host,
    };
}

static vkf_status create_instance(vkf__instance *instance, const global_functions *globals,
                                  const instance_request *request)
{
    static const VkValidationFeatureEnableEXT enables[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    const uint32_t version = VK_MAKE_VERSION(VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
    // Chained to the creation, so that creating and destroying the instance is watched, too.
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(instance->host);
    const VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messenger,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = enables,
    };
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "vkformer",
        .applicationVersion = version,
        .pEngineName = "vkformer",
        .engineVersion = version,
        .apiVersion = instance->api_version,
    };
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .flags = request->flags,
        .pApplicationInfo = &application,
        .enabledLayerCount = request->layer_count,
        .ppEnabledLayerNames = request->layers,
        .enabledExtensionCount = request->extension_count,
        .ppEnabledExtensionNames = request->extensions,
    };
    if (request->layer_count > 0)
        info.pNext = request->validation_features ? (const void *)&features : (const void *)&messenger;

    VkResult result = globals->vkCreateInstance(&info, NULL, &instance->handle);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return vkf__fail(
            instance->host, VKF_ERROR_NO_VULKAN,
            "no Vulkan driver was found: " INSTALL_ADVICE
            ". Where one is installed, VK_DRIVER_FILES or VK_ICD_FILENAMES may name no file of its, or the "
            "memory that this process may have (ulimit -v) was too small to load it");
    if (result != VK_SUCCESS)
        return loader_status(instance, result, "vkCreateInstance");
    instance->owned = true;
    instance->debug_utils = request->debug_utils;
    return VKF_OK;
}

static vkf_status load_instance_functions(vkf__instance *instance)
{
    const char *missing = NULL;
#define LOAD_FUNCTION(name) instance->name = (PFN_##name)instance->get_proc(instance->handle, #name);
    VKF_INSTANCE_FUNCTIONS(LOAD_FUNCTION)
    if (instance->debug_utils) {
        VKF_INSTANCE_FUNCTIONS_OPTIONAL(LOAD_FUNCTION)
    }
#undef LOAD_FUNCTION
#define CHECK_FUNCTION(name)         \
    if (!instance->name && !missing) \
        missing = #name;
    VKF_INSTANCE_FUNCTIONS(CHECK_FUNCTION)
#undef CHECK_FUNCTION
    if (missing)
        return vkf__fail(instance->host, VKF_ERROR_NO_VULKAN,
                         "the Vulkan loader has no function %s, which Vulkan 1.1 requires: " INSTALL_ADVICE, missing);
    return VKF_OK;
}

static vkf_status adopt_instance(vkf__instance *instance, const vkf__instance_desc *desc)
{
    if (desc->external_api_version < VK_API_VERSION_1_1)
        return vkf__fail(instance->host, VKF_ERROR_NO_VULKAN,
                         "the caller's instance was created for Vulkan %u.%u: create it for 1.1 or later",
                         VK_API_VERSION_MAJOR(desc->external_api_version),
                         VK_API_VERSION_MINOR(desc->external_api_version));
    instance->handle = desc->external;
    instance->api_version = desc->external_api_version;
    if (desc->validation)
        vkf__log(instance->host, VKF_SEVERITY_WARNING,
                 "validation cannot be switched on in an instance that exists: the caller has to");
    return VKF_OK;
}

static vkf_status make_instance(vkf__instance *instance, const vkf__instance_desc *desc)
{
    global_functions globals = {0};
    instance_request request = {0};
    VKF_RETURN_IF_ERROR(load_globals(instance, &globals));
    VKF_RETURN_IF_ERROR(read_version(instance, &globals));
    VKF_RETURN_IF_ERROR(make_request(instance, &globals, desc->validation, &request));
    return create_instance(instance, &globals, &request);
}

static vkf_status create_messenger(vkf__instance *instance)
{
    const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(instance->host);
    if (!instance->vkCreateDebugUtilsMessengerEXT || !instance->vkDestroyDebugUtilsMessengerEXT)
        return vkf__fail(instance->host, VKF_ERROR_UNSUPPORTED,
                         "the Vulkan loader lists " VK_EXT_DEBUG_UTILS_EXTENSION_NAME " but lacks its functions: "
                         "update the Vulkan loader, or switch validation off");
    VkResult result = instance->vkCreateDebugUtilsMessengerEXT(instance->handle, &info, NULL, &instance->messenger);
    if (result != VK_SUCCESS)
        instance->messenger = VK_NULL_HANDLE; // the output of a failing call is undefined
    return vkf__vulkan_status(instance->host, result, "vkCreateDebugUtilsMessengerEXT");
}

vkf_status vkf__instance_init(vkf__instance *instance, const vkf__host *host, const vkf__instance_desc *desc)
{
    vkf_status status = VKF_OK;
    *instance = (vkf__instance){.host = host};

    if (desc->get_instance_proc_addr)
        // The public type spells VkInstance as void *, so that its header needs no header of Vulkan.
        instance->get_proc = (PFN_vkGetInstanceProcAddr)(vkf_void_function)desc->get_instance_proc_addr;
    else
        VKF_TRY(open_library(instance));
    VKF_TRY(desc->external ? adopt_instance(instance, desc) : make_instance(instance, desc));
    VKF_TRY(load_instance_functions(instance));
    if (instance->owned && desc->validation)
        VKF_TRY(create_messenger(instance));
    return VKF_OK;
fail:
    vkf__instance_finish(instance);
    return status;
}

void vkf__instance_finish(vkf__instance *instance)
{
    if (instance->messenger)
        instance->vkDestroyDebugUtilsMessengerEXT(instance->handle, instance->messenger, NULL);
    // Where a loader has no vkDestroyInstance for an instance that it created, nothing can be done: the instance leaks.
    if (instance->owned && instance->vkDestroyInstance)
        instance->vkDestroyInstance(instance->handle, NULL);
    vkf__library_close(instance->library);
    *instance = (vkf__instance){0};
}
