// Executes what an emitter plans on the host, dispatch by dispatch, by the references of their operators.
#ifndef VKF_OP_HOST_RUN_H
#define VKF_OP_HOST_RUN_H

#include "op/execution.h"

// A range of the host's memory that dispatches have written.
typedef struct vkf__written {
    uint64_t offset_bytes, size_bytes;
    vkf_dtype dtype;
} vkf__written;

#define VKF_HOST_RUN_WRITES 16

// An emission that is executed on the host.
typedef struct vkf__host_run {
    // Given by the caller ------------------------------------------------------------------------
    vkf_context *context;      // may be of a device that is only described
    const vkf__variant *trial; // which its operator takes; NULL: what selection gives
    const vkf_buffer *buffer;  // whose memory `image` stands for; NULL: the spans have no buffer
    uint8_t *image;            // operands are read and written here
    uint64_t image_bytes;
    // Called before each dispatch is executed, and may change its parameters and constants; NULL: nothing is.
    void (*change)(void *user, const vkf__kernel *kernel, void *params, uint32_t *spec);
    void *user;
    // Result -------------------------------------------------------------------------------------
    vkf__written written[VKF_HOST_RUN_WRITES]; // of the image, each once
    uint32_t written_count;
    // Internal -----------------------------------------------------------------------------------
    vkf_status status;
    uint8_t **temps; // of the plan, by temp - 1
    size_t temp_count, temp_capacity;
} vkf__host_run;

// Plans `emit` at its largest sizes and executes each dispatch; where it fails, some may have been. Statuses: those of
// `emit`; UNSUPPORTED where the trial does not take the problem, or an operator has no reference; OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__host_run_emit(vkf__host_run *run, vkf__emit_fn emit, const void *args);

#endif
