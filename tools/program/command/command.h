// What commands with a device share: they read options, then answer --help or run.
#ifndef VKF_PROGRAM_COMMAND_H
#define VKF_PROGRAM_COMMAND_H

#include "command/commands.h"
#include "command/options.h"

// `options` is the command's own struct, whose first member is a vkf_common_options.
typedef struct vkf_command {
    const struct option *long_options; // its own and VKF_COMMON_LONG_OPTIONS, ended by {0}
    const char *short_options;         // in getopt's form
    // Takes a result of getopt_long, and passes common ones on to vkf_parse_common(). False after a message.
    bool (*take_option)(int option, const char *value, void *options);
    // Takes the arguments from optind on, and rejects options that contradict each other. False after a message.
    bool (*take_arguments)(int argc, char **argv, void *options);
    void (*print_help)(void);
    int (*run)(void *options); // returns an exit code, which messages of validation layers may turn into a failure
} vkf_command;

// `options` holds the defaults of the command's own options. The common ones are set and freed here.
int vkf_command_run(const vkf_command *command, int argc, char **argv, void *options);

#endif
