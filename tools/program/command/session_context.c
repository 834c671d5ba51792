// Opens contexts as the options say, and receives the library's messages.
#include "command/session_context.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/cache_dir.h"
#include "command/commands.h"
#include "dump/dump.h"
#include "dump/number_check.h"
#include "output/progress.h"
#include "output/visible_text.h"
#include "system/terminal.h"

struct vkf_message_log {
    atomic_uint validation_messages;
    atomic_flag writing; // guards last_error
    bool quiet;
    const char *cache_path; // NULL: none
    // What gets the numbers of all runs; NULL: none.
    struct vkf_number_check *numbers;
    struct vkf_dump *dump;
    char last_error[1024];
    // The line about what is done before kernels are used for the first time.
    vkf_progress first_use;
    char first_use_task[64];
    bool first_use_under_way;
};

vkf_message_log *vkf_message_log_create(void)
{
    vkf_message_log *log = calloc(1, sizeof *log);
    if (!log)
        return NULL;
    atomic_init(&log->validation_messages, 0);
    atomic_flag_clear(&log->writing);
    return log;
}

void vkf_message_log_destroy(vkf_message_log **log)
{
    free(*log);
    *log = NULL;
}

void vkf_message_log_receive(void *user, vkf_severity severity, const char *text)
{
    vkf_message_log *log = user;
    if (severity == VKF_SEVERITY_VALIDATION)
        atomic_fetch_add(&log->validation_messages, 1);
    if (severity == VKF_SEVERITY_ERROR) {
        while (atomic_flag_test_and_set(&log->writing))
            continue;
        snprintf(log->last_error, sizeof log->last_error, "%s", text);
        atomic_flag_clear(&log->writing);
        if (log->quiet)
            return;
    }
    // The library knows a blob's key, and not where the program keeps it.
    char text_with_path[2048];
    if (log->cache_path && strstr(text, "in the cache as \"")) {
        snprintf(text_with_path, sizeof text_with_path, "%s; the cache is %s", text, log->cache_path);
        text = text_with_path;
    }
    vkf_progress_end(&log->first_use);
    vkf_print_message(NULL, severity, text);
}

// A vkf_progress_fn. What begins within a second of the end of what was before counts as going on.
static bool show_first_use(void *user, uint32_t done, uint32_t total, const char *what)
{
    vkf_message_log *log = user;
    vkf_progress *progress = &log->first_use;
    if (!log->first_use_under_way && vkf_now_ms() - progress->last_ms > 1000)
        *progress = vkf_progress_start(log->first_use_task);
    (void)snprintf(log->first_use_task, sizeof log->first_use_task, "%s:", what);
    log->first_use_under_way = done < total;
    if (done < total)
        return vkf_progress_show(progress, done, total, NULL);
    vkf_progress_end(progress);
    progress->last_ms = vkf_now_ms();
    return true;
}

void vkf_message_log_set_quiet(vkf_message_log *log, bool quiet)
{
    log->quiet = quiet;
    if (quiet)
        vkf_message_log_forget(log);
}

void vkf_message_log_forget(vkf_message_log *log)
{
    log->last_error[0] = '\0';
}

const char *vkf_message_log_last_error(const vkf_message_log *log)
{
    return log->last_error;
}

vkf_context_desc vkf_common_context_desc(const vkf_common_options *common)
{
    return (vkf_context_desc){
        .device = common->device,
        .profile = common->profile,
        .masks = common->masks,
        .mask_count = common->mask_count,
        .message = vkf_message_log_receive,
        .message_user = common->messages,
        .min_severity = common->debug     ? VKF_SEVERITY_DEBUG
                        : common->verbose ? VKF_SEVERITY_INFO
                                          : VKF_SEVERITY_WARNING,
        .shader_dir = common->shader_dir,
        .variant = common->variant,
        .precision = common->arithmetic,
        .skip_self_test = common->no_self_test,
        .tune_on_first_use = common->tune,
        .validation = common->validation,
        .timestamps = common->timestamps,
        .counters = common->counters,
        .pipeline_statistics = common->statistics,
        .pipeline_representations = common->representations,
        .limits = common->limits,
        .progress = show_first_use,
        .progress_user = common->messages,
    };
}

static bool take_output(void *user, const vkf_probe_output *output)
{
    const vkf_message_log *log = user;
    return (!log->numbers || vkf_number_check_take(log->numbers, output)) &&
           (!log->dump || vkf_dump_take(log->dump, output));
}

vkf_status vkf_open_context(const vkf_common_options *common, vkf_context **out_context)
{
    vkf_context_desc desc = vkf_common_context_desc(common);
    if (!common->no_cache && vkf_cache_dir_set_path(common->cache, common->cache_path)) {
        desc.cache = vkf_cache_dir_callbacks(common->cache);
        common->messages->cache_path = vkf_cache_dir_path(common->cache);
    }
    vkf_status status = vkf_context_create(&desc, out_context);
    if (status != VKF_OK && !common->messages->quiet)
        vkf_print_error("no device could be opened: %s", vkf_status_text(status));
    if (status != VKF_OK || (!common->numbers && !common->dump))
        return status;
    // The options may be a caller's own, and end before the context.
    common->messages->numbers = common->numbers;
    common->messages->dump = common->dump;
    return vkf_context_set_probe(*out_context, take_output, common->messages);
}

vkf_status vkf_open_context_aloud(const vkf_common_options *common, vkf_context **out_context)
{
    vkf_device_info info;
    VKF_RETURN_IF_ERROR(vkf_open_context(common, out_context));
    vkf_context_get_device_info(*out_context, &info);
    if (!vkf_is_quiet() && vkf_is_terminal(VKF_STANDARD_ERROR))
        vkf_print_on(stderr, "device %u: %s\n", info.index, info.name);
    return VKF_OK;
}

int vkf_common_exit_code(const vkf_common_options *common, int code)
{
    unsigned messages = atomic_load(&common->messages->validation_messages);
    if (messages == 0)
        return code;
    vkf_print_error("the Vulkan validation layers had %u message%s", messages, messages == 1 ? "" : "s");
    return code == VKF_EXIT_DONE ? VKF_EXIT_FAILED : code;
}
