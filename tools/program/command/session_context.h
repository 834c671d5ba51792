// Where the library's messages go, and the context that the common options describe.
#ifndef VKF_PROGRAM_SESSION_CONTEXT_H
#define VKF_PROGRAM_SESSION_CONTEXT_H

#include "command/options.h"

// Prints messages on stderr, and keeps what a command wants to know about them. Used from any thread.
typedef struct vkf_message_log vkf_message_log;

vkf_message_log *vkf_message_log_create(void); // NULL when memory is exhausted
void vkf_message_log_destroy(vkf_message_log **log);

// A vkf_message_fn with a vkf_message_log as `user`.
void vkf_message_log_receive(void *user, vkf_severity severity, const char *text);

// While the log is quiet, errors are kept but not printed.
void vkf_message_log_set_quiet(vkf_message_log *log, bool quiet);
// The last error since the log was made, made quiet or told to forget; "" if none. Valid until the next error.
const char *vkf_message_log_last_error(const vkf_message_log *log);
void vkf_message_log_forget(vkf_message_log *log); // the last error

// The descriptor that vkf_open_context() uses, without the cache. Its strings belong to `common`.
vkf_context_desc vkf_common_context_desc(const vkf_common_options *common);

#endif
