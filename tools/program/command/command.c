// Runs a command: options, --help, arguments and exit code.
#include "command/command.h"

// Reads on after --help, since a wrong option after it is an error like one before it.
static bool take_options(const vkf_command *command, int argc, char **argv, void *options, bool *out_help)
{
    bool help = false;
    for (int opt; (opt = getopt_long(argc, argv, command->short_options, command->long_options, NULL)) != -1;) {
        if (opt == VKF_OPT_HELP)
            help = true;
        else if (!command->take_option(opt, optarg, options))
            return false;
    }
    *out_help = help;
    return true;
}

static int run(const vkf_command *command, int argc, char **argv, void *options, const vkf_common_options *common)
{
    bool help;
    if (!take_options(command, argc, argv, options, &help))
        return VKF_EXIT_USAGE;
    if (help) {
        command->print_help(options);
        return VKF_EXIT_DONE;
    }
    if (!command->take_arguments(argc, argv, options))
        return VKF_EXIT_USAGE;
    int code = command->run(options);
    return common ? vkf_common_exit_code(common, code) : code;
}

int vkf_command_run(const vkf_command *command, int argc, char **argv, void *options, vkf_common_options *common)
{
    if (!common)
        return run(command, argc, argv, options, NULL);
    int code = vkf_common_init(common) ? run(command, argc, argv, options, common) : VKF_EXIT_FAILED;
    vkf_common_free(common);
    return code;
}
