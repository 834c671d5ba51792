// The output forms of a profile. All of them write to a stream, and leave its errors to the caller.
#ifndef VKF_PROGRAM_PROFILE_OUTPUT_H
#define VKF_PROGRAM_PROFILE_OUTPUT_H

#include <stdio.h>

#include "lab/profile/profile_group.h"

// Prints a table for a terminal: what was run, the host's share, and the groups, the longest first. False after a
// message.
bool vkf_profile_print_table(FILE *out, const json_t *document, vkf_profile_by by);

// Prints a line for each dispatch of a run, with times in nanoseconds.
void vkf_profile_print_csv(FILE *out, const json_t *document);

// The last run in Chrome's trace-event format, which ui.perfetto.dev opens, too: a track for the host and one for the
// device. NULL when memory is exhausted (no message).
json_t *vkf_profile_trace(const json_t *document);

// Where the dispatches of a submission begin in the timeline, in nanoseconds on the host's clock.
double vkf_profile_device_begin_ns(const json_t *submission);

// Prints a self-contained page: roofline, bars, timeline, memory and kernels. False after a message.
bool vkf_profile_print_html(FILE *out, const json_t *document);

// Prints what changed from one document to another. True when nothing has become slower by more than `fail_above` (a
// ratio) and more than noise. *out_done is false after a message.
bool vkf_profile_print_diff(FILE *out, const json_t *before, const json_t *after, double fail_above, bool *out_done);

#endif
