// Descriptions of devices in files, as --caps and --chip take them.
#ifndef VKF_PROGRAM_DESCRIBED_DEVICE_H
#define VKF_PROGRAM_DESCRIBED_DEVICE_H

#include <stdbool.h>

#include <vkformer/vkformer.h>

// Whether the text is a path, with or without #PROFILE behind it: it has a slash, or it ends in .json.
bool vkf_names_description(const char *text);

// The path without #PROFILE, to be given to free(); NULL after a message.
char *vkf_description_path(const char *text);

// Opens the file; PROFILE says which of its profiles. False after a message.
bool vkf_open_description(const char *text, vkf_device_description **out_description);

#endif
