// Where the time of a run goes: one callback for each submission of a layer or a model, and one for each of its
// dispatches. A context without a profiler keeps and allocates nothing for this. The library writes no files.
#ifndef VKFORMER_PROFILE_H
#define VKFORMER_PROFILE_H

#include <vkformer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VKF_COUNTER_NAME_SIZE 64
#define VKF_COUNTER_DESCRIPTION_SIZE 256

// Something that the device counts while a dispatch runs: "compute shader invocations" from its pipeline statistics,
// and the counters of VK_KHR_performance_query, in the driver's words.
typedef struct vkf_counter {
    char name[VKF_COUNTER_NAME_SIZE];
    char category[VKF_COUNTER_NAME_SIZE];
    char description[VKF_COUNTER_DESCRIPTION_SIZE];
    const char *unit; // "bytes", "cycles", "%"; "" for a plain number
} vkf_counter;

// The counters of a context that was made with `counters`: returns their number, and in *out_counters the context's own
// list of them.
VKF_API uint32_t vkf_context_get_counters(const vkf_context *context, const vkf_counter **out_counters);

// Host times come from a monotonic clock with an unspecified beginning.
typedef struct vkf_submission_profile {
    const char *name; // "encoder", "decoder", "step"; for a layer "encoder_layer"
    double begin_ns;  // on the host: when the run began to write its sizes
    double update_ns; // until they and all parameters were written
    double submit_ns; // until the recorded command buffers were in the queue
    double wait_ns;   // until the host knew that the device had ended
    double gpu_ns;    // from the beginning of the first dispatch to the end of the last; 0 without timestamps
    // On the host's clock: when the first dispatch began, and by how much that may be wrong. Both are zero without
    // timestamps, and where the device's clock cannot be compared with the host's (VK_KHR_calibrated_timestamps).
    double gpu_begin_ns, gpu_deviation_ns;
    uint32_t dispatch_count;
} vkf_submission_profile;

typedef struct vkf_dispatch_profile {
    const char *part;   // what was recorded together: "decoder.0", "step.head"; for a layer its name
    const char *label;  // "self_attn.q_proj"
    const char *kernel; // "gemm_tile.f32_f16_f32"
    const char *config; // "large"
    uint32_t workgroups[3];
    double begin_ns; // on the device, from the beginning of the submission's first dispatch
    // Time since the previous dispatch had ended, so that these times sum up to the submission's: a dispatch includes
    // the barrier before it and its start. 0 without timestamps.
    double gpu_ns;
    // The least that any kernel must do: every element that is read or written counts once, a multiply-add counts as
    // two operations, and attention counts only the keys that a causal mask and a window leave visible.
    double flops, bytes_read, bytes_written;
    const double *counters; // those of vkf_context_get_counters(), in its order; NULL: none, or the device did not tell
} vkf_dispatch_profile;

// All pointers are valid during the calls. The thread that runs the layer or session makes the calls after the run has
// ended: first for the submission, then for its dispatches in order, without those that had nothing to do. The
// callbacks must not call functions of the context.
typedef struct vkf_profiler {
    void (*submission)(void *user, const vkf_submission_profile *submission); // optional
    void (*dispatch)(void *user, const vkf_dispatch_profile *dispatch);       // optional
    void *user;
} vkf_profiler;

// Sets the profiler for all layers and sessions of the context from now on; `profiler` may be NULL: none. No run of the
// context may be under way. Device times need a context with `timestamps`.
// Statuses: INVALID_ARGUMENT.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_context_set_profiler(vkf_context *context, const vkf_profiler *profiler);

// What a dispatch has written.
typedef struct vkf_probe_output {
    uint32_t index; // among the outputs of its submission: 0 begins a new submission
    // As in vkf_submission_profile and vkf_dispatch_profile, except that a result that is put together from parts has
    // the label of these parts.
    const char *submission, *part, *label, *kernel;
    uint32_t rank;
    uint32_t shape[4];   // (rank); rows of batch entries may come as one dimension
    const float *values; // side by side, of f16 exactly what is stored; valid during the call
    uint64_t count;
} vkf_probe_output;

// Returns false to end the run, which gives VKF_ERROR_CANCELLED; the session or layer can be run again.
typedef bool (*vkf_probe_fn)(void *user, const vkf_probe_output *output);

// From now on, all layers and sessions of the context run dispatch by dispatch and wait for each one, and `probe` gets
// what each has written. This serves to find where a number goes wrong, or to compare with another implementation.
// Three kinds of output are left out: what is not floating point (tokens), parts of sums that another dispatch puts
// together, and rows that are only moved. A product that is cut into slices comes slice by slice. `probe` may be NULL:
// runs are as usual again. No run of the context may be under way. Runs with a probe have no GPU times, are not told to
// a profiler, and may also give CANCELLED.
// Statuses: INVALID_ARGUMENT.
VKF_API VKF_MUST_CHECK vkf_status vkf_context_set_probe(vkf_context *context, vkf_probe_fn probe, void *user);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/profile.h>

#endif
