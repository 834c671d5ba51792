// Options that every subcommand with a device understands, and strict parsing of option values.
#ifndef VKF_PROGRAM_OPTIONS_H
#define VKF_PROGRAM_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include <vkformer/vkformer.h>

#include "base/host.h"

struct vkf_message_log;
struct vkf_cache_dir;
struct vkf_number_check;
struct vkf_dump;

// The common options. Strings point into argv.
typedef struct vkf_common_options {
    vkf_device_choice device;
    bool device_given;
    vkf_profile profile;
    vkf_device_description *limits; // of --caps FILE; NULL: none
    const char **masks;
    uint32_t mask_count;
    const char *cache_path; // NULL: the user's cache directory
    const char *shader_dir;
    const char *variant; // NULL: selection decides
    vkf_precision arithmetic;
    bool no_cache;
    bool no_self_test;
    bool tune;
    bool validation;
    bool verbose, debug;
    bool timestamps;      // not an option: a command that reports GPU times sets it before it opens a context
    const char *counters; // not an option: what to count while dispatches run; NULL: nothing
    bool statistics;      // not an option: the command reports the compiler's statistics
    bool representations; // not an option: the command reports the compiler's intermediate code
    // Not options either: these get the numbers of all runs. NULL: none.
    struct vkf_number_check *numbers;
    struct vkf_dump *dump;
    struct vkf_message_log *messages;
    struct vkf_cache_dir *cache;
} vkf_common_options;

// Values for getopt_long. A command's own long options begin at VKF_OPT_OWN.
enum vkf_common_option {
    VKF_OPT_DEVICE = 0x100,
    VKF_OPT_CAPS,
    VKF_OPT_MASK,
    VKF_OPT_CACHE,
    VKF_OPT_NO_CACHE,
    VKF_OPT_VALIDATE,
    VKF_OPT_VERBOSE,
    VKF_OPT_SHADER_DIR,
    VKF_OPT_VARIANT,
    VKF_OPT_NO_SELF_TEST,
    VKF_OPT_TUNE,
    VKF_OPT_ARITHMETIC,
    VKF_OPT_DEBUG,
    VKF_OPT_QUIET, // this and help are taken by vkf_command_run()
    VKF_OPT_HELP,
    VKF_OPT_OWN = 0x200,
};

// clang-format off
// The options of every command, as entries of its `struct option` array.
#define VKF_EVERY_LONG_OPTION                                     \
    {"quiet", no_argument, NULL, VKF_OPT_QUIET},                  \
    {"help", no_argument, NULL, VKF_OPT_HELP}

// Entries for the array of a command with a device. The command adds its own entries and the closing {0}.
#define VKF_COMMON_LONG_OPTIONS                                   \
    {"device", required_argument, NULL, VKF_OPT_DEVICE},          \
    {"caps", required_argument, NULL, VKF_OPT_CAPS},              \
    {"mask", required_argument, NULL, VKF_OPT_MASK},              \
    {"cache", required_argument, NULL, VKF_OPT_CACHE},            \
    {"no-cache", no_argument, NULL, VKF_OPT_NO_CACHE},            \
    {"validate", no_argument, NULL, VKF_OPT_VALIDATE},            \
    {"verbose", no_argument, NULL, VKF_OPT_VERBOSE},              \
    {"debug", no_argument, NULL, VKF_OPT_DEBUG},                  \
    {"shader-dir", required_argument, NULL, VKF_OPT_SHADER_DIR},  \
    {"variant", required_argument, NULL, VKF_OPT_VARIANT},        \
    {"no-self-test", no_argument, NULL, VKF_OPT_NO_SELF_TEST},    \
    {"tune", no_argument, NULL, VKF_OPT_TUNE},                    \
    {"arithmetic", required_argument, NULL, VKF_OPT_ARITHMETIC},  \
    VKF_EVERY_LONG_OPTION
// clang-format on

// The part of a command's help that describes the options of every command; `blanks` widen the column of the options.
#define VKF_EVERY_HELP(blanks)                                                          \
    "  --quiet          " blanks "  print errors alone: no warnings, and no progress\n" \
    "  -h, --help       " blanks "  print this\n"

// The part of a command's help that describes the common options.
#define VKF_COMMON_HELP                                                                               \
    "Common options:\n"                                                                               \
    "  --device CHOICE    best (default), an index, a part of the name, uuid:HEX,\n"                  \
    "                     discrete, integrated, virtual or cpu\n"                                     \
    "  --caps PROFILE     treat the device as no better than android-baseline-2022,\n"                \
    "                     android-2025, roadmap-2026 or full (default), or than FILE.json says,\n"    \
    "                     of the Vulkan Profiles schema; #NAME behind it chooses a profile\n"         \
    "  --mask NAME[=VAL]  switch a Vulkan feature off or lower a limit; repeatable\n"                 \
    "  --cache DIR        keep pipelines, self-test verdicts and tuned data in DIR, not in\n"         \
    "                     $XDG_CACHE_HOME/vkformer\n"                                                 \
    "  --no-cache         keep nothing between runs\n"                                                \
    "  --validate         Vulkan validation layers on; any message of theirs gives exit 1\n"          \
    "  --verbose          print informational messages; --debug: and which kernel serves each step\n" \
    "  --variant NAME     take the kernel of that name, or beginning of one, wherever it can\n"       \
    "                     serve: gemm_tile, or gemm_tile.f32_f32_f32/small\n"                         \
    "  --no-self-test     use kernels untested on a device that has not seen them yet\n"              \
    "  --tune             measure the kernels for each weight's shape when it is first\n"             \
    "                     loaded or used, for up to 20 s; the cache keeps what was found\n"           \
    "  --arithmetic KIND  full (default); f16: f32 activations may be rounded to 16 bits for\n"       \
    "                     matrix units; f16-sums: and short runs of products summed in f16\n"         \
    "  --shader-dir DIR   take kernels from GLSL files in DIR (needs VKF_RUNTIME_GLSL)\n" VKF_EVERY_HELP("")

// False when memory is exhausted (message printed). vkf_common_free() must follow in either case, after the context was
// destroyed.
bool vkf_common_init(vkf_common_options *common);
void vkf_common_free(vkf_common_options *common);

// Takes one result of getopt_long. False when the value is wrong (message printed), or when it is not a common option.
// The command then exits with VKF_EXIT_USAGE.
bool vkf_parse_common(int option, const char *value, vkf_common_options *common);

// Opens a context as the options say. Errors have been printed. `common` must outlive the context.
VKF_MUST_CHECK vkf_status vkf_open_context(const vkf_common_options *common, vkf_context **out_context);
// The same, and where stderr is a terminal a line there says which device it is.
VKF_MUST_CHECK vkf_status vkf_open_context_aloud(const vkf_common_options *common, vkf_context **out_context);

// The exit code of the command: `code`, or VKF_EXIT_FAILED when validation layers reported something.
int vkf_common_exit_code(const vkf_common_options *common, int code);

// Strict parsers of option values: the whole text must be a number within [min, max]. On failure they print a message
// that names `option` ("--batch"), and do not touch *out_value.
bool vkf_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max, uint32_t *out_value);
bool vkf_parse_double(const char *option, const char *text, double min, double max, double *out_value);
bool vkf_parse_float(const char *option, const char *text, float min, float max, float *out_value);

// The path must not be empty; *out_path points to the text itself.
bool vkf_parse_path(const char *option, const char *text, const char **out_path);

// From now on errors alone are printed, and no progress.
void vkf_be_quiet(void);
bool vkf_is_quiet(void);

// Messages from now on say which rank they are from.
void vkf_print_as_rank(uint32_t rank);

// Prints a message on stderr, beginning with "vkformer: error: " or the name of another severity. It is a
// vkf_message_fn, which ignores `user`.
void vkf_print_message(void *user, vkf_severity severity, const char *message);
void vkf_print_error(const char *format, ...) VKF_PRINTF(1, 2);
void vkf_print_warning(const char *format, ...) VKF_PRINTF(1, 2);

#endif
