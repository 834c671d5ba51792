// Descriptions of devices, in files and built in, as --caps and --chip take them.
#ifndef VKF_PROGRAM_DESCRIBED_DEVICE_H
#define VKF_PROGRAM_DESCRIBED_DEVICE_H

#include <jansson.h>
#include <stdbool.h>

#include <vkformer/vkformer.h>

// Whether the text is a path, with or without #PROFILE behind it: it has a slash, or it ends in .json.
bool vkf_names_description(const char *text);

// The path without #PROFILE, to be given to free(); NULL after a message.
char *vkf_description_path(const char *text);

// Opens the file; PROFILE says which of its profiles. False after a message.
bool vkf_open_description(const char *text, vkf_device_description **out_description);

// Limits may have all of 64 bits, which a signed integer does not hold.
#define VKF_CHIP_NUMBERS JSON_DECODE_INT_AS_REAL

// Opens a chip that the program knows, by its name, or a file as above. *out_root (may be NULL) gets the description
// itself. False after a message. Release both in either case.
bool vkf_open_chip(const char *name, vkf_device_description **out_description, json_t **out_root);

#endif
