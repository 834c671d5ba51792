// Runs a command: options, --help, arguments and exit code.
#include "command/command.h"

#include <stdio.h>
#include <string.h>

#include "command/nearest_name.h"

#define MAX_SHORT_OPTIONS 32
#define MAX_NAME_BYTES 200 // of what is shown of an option that is none

// Says what is wrong with a long option that is none. getopt takes a beginning for the option where it is one's alone.
static void refuse_name(const vkf_command *command, const char *given, const char *help)
{
    char word[MAX_NAME_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(given, "="), given);
    vkf_nearest_name nearest = {.word = word};
    int beginnings = 0;
    for (const struct option *option = command->long_options; option->name; option++) {
        beginnings += strncmp(option->name, word, strlen(word)) == 0;
        vkf_nearest_name_offer(&nearest, option->name);
    }
    if (beginnings > 1)
        nearest.name = NULL;
    vkf_nearest_name_refuse(&nearest, "--", beginnings > 1 ? "several options begin so" : "there is no such option",
                            help);
}

// Says why getopt_long refused an option with `result`.
static bool refuse(const vkf_command *command, int result, char **argv)
{
    if (result == '?' && optopt == 0)
        refuse_name(command, argv[optind - 1] + 2, argv[0]);
    else if (result == '?' && optopt < VKF_OPT_DEVICE)
        vkf_print_error("'-%c': there is no such option; see %s --help", optopt, argv[0]);
    else
        vkf_print_error("'%.200s': %s; see %s --help", argv[optind - 1],
                        result == ':' ? "the value is missing" : "the option takes no value", argv[0]);
    return false;
}

// Reads on after --help, since a wrong option after it is an error like one before it.
static bool take_options(const vkf_command *command, int argc, char **argv, void *options, bool *out_help)
{
    char short_options[MAX_SHORT_OPTIONS];
    snprintf(short_options, sizeof short_options, ":h%s", command->short_options); // ':' tells a missing value apart
    bool help = false;
    opterr = 0;
    for (int opt; (opt = getopt_long(argc, argv, short_options, command->long_options, NULL)) != -1;) {
        if (opt == '?' || opt == ':')
            return refuse(command, opt, argv);
        if (opt == VKF_OPT_HELP || opt == 'h')
            help = true;
        else if (opt == VKF_OPT_QUIET)
            vkf_be_quiet();
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
