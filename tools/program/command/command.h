// What commands with a device have in common: options are read, then --help is answered, or the command runs.
#ifndef VKF_PROGRAM_COMMAND_H
#define VKF_PROGRAM_COMMAND_H

#include "command/commands.h"
#include "command/options.h"

// `options` is the command's own struct, whose first member is a vkf_common_options.
typedef struct vkf_command {
    const struct option *long_options; // its own and VKF_COMMON_LONG_OPTIONS; closed by {0}
    const char *short_options;         // as getopt takes them
    // Takes a result of getopt_long, of which vkf_parse_common() has the common ones. False after a message.
    bool (*take_option)(int option, const char *value, void *options);
    // Takes the arguments from optind on, and says what does not go together. False after a message.
    bool (*take_arguments)(int argc, char **argv, void *options);
    void (*print_help)(void);
    int (*run)(void *options); // returns an exit code, which messages of validation layers make worse
} vkf_command;

// `options` holds the defaults, but for the common ones, which are set here and freed.
int vkf_command_run(const vkf_command *command, int argc, char **argv, void *options);

#endif
