// Texts and names of statuses, and the library's version and parts.
#include <vkformer/status.h>

uint32_t vkf_version(void)
{
    return VKF_VERSION;
}

bool vkf_has_part(vkf_part part)
{
    switch (part) {
    case VKF_PART_CORE:
        return true;
    case VKF_PART_MODELS:
#ifdef VKF_HAS_MODELS
        return true;
#else
        return false;
#endif
    case VKF_PART_TEXT:
#ifdef VKF_HAS_TEXT
        return true;
#else
        return false;
#endif
    case VKF_PART_TRAIN:
#ifdef VKF_HAS_TRAIN
        return true;
#else
        return false;
#endif
    }
    return false;
}

const char *vkf_status_text(vkf_status status)
{
    switch (status) {
#define STATUS_TEXT(name, value, text) \
    case name:                         \
        return text;
        VKF_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *vkf_status_name(vkf_status status)
{
    switch (status) {
#define STATUS_NAME(name, value, text) \
    case name:                         \
        return #name;
        VKF_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "VKF_STATUS_UNKNOWN";
}
