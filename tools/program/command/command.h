// What all commands share: they read options, then answer --help or run.
#ifndef VKF_PROGRAM_COMMAND_H
#define VKF_PROGRAM_COMMAND_H

#include "command/commands.h"
#include "command/options.h"

// `options` is the command's own struct.
typedef struct vkf_command {
    const vkf_option *own; // beside those of every command, and with a device the common ones
    const char *common;    // of these, those that it knows: "caps|mask"; NULL: all
    // Takes the arguments from optind on, and rejects options that contradict each other. False after a message.
    bool (*take_arguments)(int argc, char **argv, void *options);
    // Gets the options, since each benchmark has a help of its own.
    void (*print_help)(const void *options);
    int (*run)(void *options); // returns an exit code, which messages of validation layers may turn into a failure
} vkf_command;

// `options` holds the defaults of the command's own options. `common` lies within it, and is set and freed here; NULL
// for a command without a device.
int vkf_command_run(const vkf_command *command, int argc, char **argv, void *options, vkf_common_options *common);

#endif
