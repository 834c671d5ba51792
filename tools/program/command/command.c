// Runs a command: options, --help, arguments and exit code.
#include "command/command.h"

static bool take_options(const vkf_command *command, int argc, char **argv, void *options)
{
    for (int opt; (opt = getopt_long(argc, argv, command->short_options, command->long_options, NULL)) != -1;)
        if (!command->take_option(opt, optarg, options))
            return false;
    return true;
}

static int run(const vkf_command *command, int argc, char **argv, void *options)
{
    const vkf_common_options *common = options;
    if (!take_options(command, argc, argv, options))
        return VKF_EXIT_USAGE;
    if (common->help) {
        command->print_help();
        return VKF_EXIT_DONE;
    }
    if (!command->take_arguments(argc, argv, options))
        return VKF_EXIT_USAGE;
    return vkf_common_exit_code(common, command->run(options));
}

int vkf_command_run(const vkf_command *command, int argc, char **argv, void *options)
{
    vkf_common_options *common = options;
    int code = vkf_common_init(common) ? run(command, argc, argv, options) : VKF_EXIT_FAILED;
    vkf_common_free(common);
    return code;
}
