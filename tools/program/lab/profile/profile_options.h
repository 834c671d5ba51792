// Options of `vkformer profile`.
#ifndef VKF_PROGRAM_PROFILE_OPTIONS_H
#define VKF_PROGRAM_PROFILE_OPTIONS_H

#include "command/options.h"
#include "lab/profile/profile_output.h"
#include "lab/profile/profile_subject.h"
#include "measure/settle.h"

typedef enum vkf_profile_format {
    VKF_PROFILE_AS_TABLE = 0,
    VKF_PROFILE_AS_JSON,
    VKF_PROFILE_AS_CSV,
    VKF_PROFILE_AS_TRACE,
    VKF_PROFILE_AS_HTML,
    VKF_PROFILE_FORMATS
} vkf_profile_format;

typedef struct vkf_profile_options {
    vkf_common_options common;
    vkf_profile_settings subject;
    uint32_t repetitions, warmup;
    float settle_s; // VKF_SETTLE_DEFAULT: as the device needs
    bool no_roof, overhead, diff, check_numbers;
    bool sized, layered; // an option was given that only models, or only layers, have
    float fail_above;    // percent
    vkf_profile_by by;
    vkf_profile_format format;
    const char *files[VKF_PROFILE_FORMATS]; // written in addition; NULL: none
    const char *paths[2];                   // --diff
    const char *dump_path;                  // NULL: none
} vkf_profile_options;

// Calls `run` with a vkf_profile_options and returns its exit code, unless help is printed or something is wrong.
int vkf_profile_run_with_options(int argc, char **argv, int (*run)(void *options));

#endif
