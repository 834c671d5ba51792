// Options that every subcommand with a device understands, and strict parsing of option values.
#ifndef VKF_PROGRAM_OPTIONS_H
#define VKF_PROGRAM_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
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
    vkf_caps_profile profile;
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

typedef enum vkf_option_kind {
    VKF_OPTION_TAKEN = 0, // take() has the value
    VKF_OPTION_OPTIONAL,  // take(), with a value or NULL
    VKF_OPTION_SWITCH,    // take(), without a value
    VKF_OPTION_FLAG,      // bool, set without a value
    VKF_OPTION_U32,       // uint32_t, from min to max, as the next two
    VKF_OPTION_FLOAT,
    VKF_OPTION_DOUBLE,
    VKF_OPTION_TEXT,      // const char *
    VKF_OPTION_PATH,      // const char *, not empty
    VKF_OPTION_PRECISION, // vkf_model_precision, or auto
    VKF_OPTION_QUANTIZATION,
    VKF_OPTION_NAME, // an enum: 0 for the first of the names
} vkf_option_kind;

// An option of a command's own.
typedef struct vkf_option {
    const char *name; // without dashes; NULL: it has a letter alone
    vkf_option_kind kind;
    size_t offset; // of what is set in the command's options
    double min, max;
    const char *names, *refusal; // of a name: "file|name|error"; what another is: "none of file, name, error"
    size_t given;                // of a bool that is set beside; 0: none
    char letter;                 // 0: none
    bool (*take)(const struct vkf_option *option, const char *value, void *options); // false after a message
} vkf_option;

// Rows of an array of these, which {0} ends.
#define VKF_OPTION(type, text, what, member)                                        \
    {                                                                               \
        .name = (text), .kind = VKF_OPTION_##what, .offset = offsetof(type, member) \
    }
#define VKF_OPTION_WITHIN(type, text, what, member, least, most)                                                   \
    {                                                                                                              \
        .name = (text), .kind = VKF_OPTION_##what, .offset = offsetof(type, member), .min = (least), .max = (most) \
    }
#define VKF_OPTION_OF(type, text, member, of_names, what_others_are)                                    \
    {                                                                                                   \
        .name = (text), .kind = VKF_OPTION_NAME, .offset = offsetof(type, member), .names = (of_names), \
        .refusal = (what_others_are)                                                                    \
    }
// --output of rows, see output/rows.h
#define VKF_OPTION_ROWS(type, member)                                                               \
    {                                                                                               \
        .name = "output", .letter = 'o', .kind = VKF_OPTION_NAME, .offset = offsetof(type, member), \
        .names = "table|json|jsonl|csv|md", .refusal = "none of table, json, jsonl, csv and md"     \
    }
#define VKF_OPTION_BESIDE(type, text, what, member, least, most, beside)                                            \
    {                                                                                                               \
        .name = (text), .kind = VKF_OPTION_##what, .offset = offsetof(type, member), .min = (least), .max = (most), \
        .given = offsetof(type, beside)                                                                             \
    }

// The options of every command with a device, but for quiet and help, which all have.
extern const vkf_option vkf_common_rows[];

// The part of a command's help that describes the options of every command; `blanks` widen the column of the options.
#define VKF_EVERY_HELP(blanks)                                                          \
    "  --quiet          " blanks "  print errors alone: no warnings, and no progress\n" \
    "  -h, --help       " blanks "  print this\n"

// The part of a command's help that describes the common options.
#define VKF_COMMON_HELP                                                                               \
    "Common options:\n"                                                                               \
    "  --device CHOICE    best (default), an index, a part of the name, uuid:HEX,\n"                  \
    "                     discrete, integrated, virtual, cpu, or reference: the operators'\n"         \
    "                     scalar references, on the host and without a driver\n"                      \
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

// Opens a context as the options say. Errors have been printed. What `common` points to must outlive the context.
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
