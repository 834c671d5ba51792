// Runs a command: options, --help, arguments and exit code.
#include "command/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "command/nearest_name.h"
#include "command/precision.h"

#define MAX_LONG_OPTIONS 160
#define MAX_SHORT_OPTIONS 32
#define MAX_NAME_BYTES 200 // of what is shown of an option that is none

// What getopt is told.
typedef struct option_list {
    struct option names[MAX_LONG_OPTIONS];
    size_t count;
    char letters[MAX_SHORT_OPTIONS];
} option_list;

enum { OPT_QUIET = 0x100, OPT_HELP, OPT_COMMON = 0x200, OPT_OWN = 0x300 };

// The place of a name among "one|another"; false if it is none of them.
static bool find_name(const char *names, const char *wanted, unsigned *out_index)
{
    unsigned index = 0;
    for (const char *name = names; *name; index++) {
        const size_t length = strcspn(name, "|");
        if (strlen(wanted) == length && strncmp(wanted, name, length) == 0) {
            *out_index = index;
            return true;
        }
        name += length + (name[length] == '|');
    }
    return false;
}

static bool is_end(const vkf_option *row)
{
    return !row->name && !row->letter;
}

static int argument_of(const vkf_option *row)
{
    if (row->kind == VKF_OPTION_FLAG || row->kind == VKF_OPTION_SWITCH)
        return no_argument;
    return row->kind == VKF_OPTION_OPTIONAL ? optional_argument : required_argument;
}

// `few`: those alone; NULL: all.
static void add_rows(const vkf_option *rows, const char *few, int first, option_list *list)
{
    unsigned place;
    for (const vkf_option *row = rows; !is_end(row); row++) {
        const size_t used = strlen(list->letters);
        assert(list->count + 3 < MAX_LONG_OPTIONS && used + 2 < MAX_SHORT_OPTIONS);
        if (row->name && (!few || find_name(few, row->name, &place)))
            list->names[list->count++] =
                (struct option){.name = row->name, .has_arg = argument_of(row), .val = first + (int)(row - rows)};
        if (row->letter)
            snprintf(list->letters + used, MAX_SHORT_OPTIONS - used, "%c%s", row->letter,
                     argument_of(row) == no_argument ? "" : ":");
    }
}

static void list_options(const vkf_command *command, bool device, option_list *out_list)
{
    *out_list = (option_list){.letters = ":h"}; // ':' tells a missing value apart
    add_rows(command->own, NULL, OPT_OWN, out_list);
    if (device)
        add_rows(vkf_common_rows, command->common, OPT_COMMON, out_list);
    out_list->names[out_list->count++] = (struct option){.name = "quiet", .val = OPT_QUIET};
    out_list->names[out_list->count++] = (struct option){.name = "help", .val = OPT_HELP};
}

static const vkf_option *find_row(const vkf_command *command, int opt)
{
    if (opt >= OPT_COMMON)
        return opt >= OPT_OWN ? &command->own[opt - OPT_OWN] : &vkf_common_rows[opt - OPT_COMMON];
    const vkf_option *row = command->own;
    while (!is_end(row) && row->letter != opt)
        row++;
    return row;
}

static bool take_name(const vkf_option *option, const char *value, unsigned *out_index)
{
    if (find_name(option->names, value, out_index))
        return true;
    vkf_print_error("--%s: '%.200s' is %s", option->name, value, option->refusal);
    return false;
}

static bool take(const vkf_option *option, const char *value, void *options)
{
    char *const of = options, name[40];
    void *const target = of + option->offset;
    snprintf(name, sizeof name, "--%s", option->name ? option->name : "");
    if (option->given > 0)
        *(bool *)(of + option->given) = true;
    switch (option->kind) {
    case VKF_OPTION_FLAG:
        *(bool *)target = true;
        return true;
    case VKF_OPTION_U32:
        return vkf_parse_u32(name, value, (uint32_t)option->min, (uint32_t)option->max, target);
    case VKF_OPTION_FLOAT:
        return vkf_parse_float(name, value, (float)option->min, (float)option->max, target);
    case VKF_OPTION_DOUBLE:
        return vkf_parse_double(name, value, option->min, option->max, target);
    case VKF_OPTION_TEXT:
        *(const char **)target = value;
        return true;
    case VKF_OPTION_PATH:
        return vkf_parse_path(name, value, target);
    case VKF_OPTION_PRECISION:
        return vkf_parse_model_precision(name, value, target);
    case VKF_OPTION_QUANTIZATION:
        return vkf_parse_quantization(name, value, target);
    case VKF_OPTION_NAME:
        return take_name(option, value, target);
    default:
        return option->take(option, value, options);
    }
}

// Says what is wrong with a long option that is none. getopt takes a beginning for the option where it is one's alone.
static void refuse_name(const struct option *known, const char *given, const char *help)
{
    char word[MAX_NAME_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(given, "="), given);
    vkf_nearest_name nearest = {.word = word};
    int beginnings = 0;
    for (const struct option *option = known; option->name; option++) {
        beginnings += strncmp(option->name, word, strlen(word)) == 0;
        vkf_nearest_name_offer(&nearest, option->name);
    }
    if (beginnings > 1)
        nearest.name = NULL;
    vkf_nearest_name_refuse(&nearest, "--", beginnings > 1 ? "several options begin so" : "there is no such option",
                            help);
}

// Says why getopt_long refused an option with `result`.
static bool refuse(const option_list *list, int result, char **argv)
{
    if (result == '?' && optopt == 0)
        refuse_name(list->names, argv[optind - 1] + 2, argv[0]);
    else if (result == '?' && optopt < OPT_QUIET)
        vkf_print_error("'-%c': there is no such option; see %s --help", optopt, argv[0]);
    else
        vkf_print_error("'%.200s': %s; see %s --help", argv[optind - 1],
                        result == ':' ? "the value is missing" : "the option takes no value", argv[0]);
    return false;
}

// Reads on after --help, since a wrong option after it is an error like one before it.
static bool take_options(const vkf_command *command, int argc, char **argv, void *options, vkf_common_options *common,
                         bool *out_help)
{
    option_list list;
    bool help = false;
    list_options(command, common != NULL, &list);
    opterr = 0;
    for (int opt; (opt = getopt_long(argc, argv, list.letters, list.names, NULL)) != -1;) {
        if (opt == '?' || opt == ':')
            return refuse(&list, opt, argv);
        if (opt == OPT_HELP || opt == 'h')
            help = true;
        else if (opt == OPT_QUIET)
            vkf_be_quiet();
        else if (!take(find_row(command, opt), optarg, opt >= OPT_COMMON && opt < OPT_OWN ? common : options))
            return false;
    }
    *out_help = help;
    return true;
}

static int run(const vkf_command *command, int argc, char **argv, void *options, vkf_common_options *common)
{
    bool help;
    if (!take_options(command, argc, argv, options, common, &help))
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
