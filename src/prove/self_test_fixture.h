// The self-test's fixture: runs the cases of a variant on the device, in one buffer, and compares what a kernel leaves
// there with what the operator's reference leaves (op/cases.h).
#ifndef VKF_PROVE_SELF_TEST_FIXTURE_H
#define VKF_PROVE_SELF_TEST_FIXTURE_H

#include "op/cases.h"
#include "op/host_run.h"
#include "prove/self_test.h"
#include "prove/trial.h"

typedef struct vkf__fixture {
    vkf_context *context;
    vkf__cases cases;              // of the variant
    vkf__verdict verdict;          // PASSED until something is wrong
    uint32_t repetitions;          // of every case
    vkf__keep_going_fn keep_going; // NULL: always
    void *user;
    // About a bad verdict:
    double times; // how many times its budget it took
    bool foretold;
    char reason[VKF_VERDICT_REASON_BYTES];
    bool stopped;   // keep_going said no
    bool gathering; // nothing runs, and the pipelines that cases need are gathered
    bool compiled;  // the pipelines are there, as far as the driver takes them
    vkf__pipeline_wants wants;
    double best_ns;    // the fastest of the first runs of the last case
    bool told;         // enough was foretold of the costly case that follows
    double latency_ns; // of an empty submission beside the last case that foretells
    uint8_t *expected; // what the buffer has to hold behind the case
    vkf_buffer *block; // where every case has its parameters, too: without it each would take memory of the device anew
    bool compiles_none; // cases that need a pipeline which is not there yet are left out
    bool ran;           // the last case, in which the variant had these constants:
    uint32_t constants[VKF_KERNEL_MAX_SPEC];
} vkf__fixture;

// Room for the largest cases.
#define VKF_FIXTURE_BYTES (((uint64_t)16 << 20) + 4096)

// Sets what fixture->cases lacks for its operator's cases to be run: each fixture->repetitions times, with the results
// compared unless the verdict is bad already. A case that the variant does not take is skipped. While pipelines are
// gathered, cases add to fixture->wants instead. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY.
// vkf__fixture_finish() must follow, whatever the status.
VKF_MUST_CHECK vkf_status vkf__fixture_init(vkf__fixture *fixture, uint64_t capacity_bytes);
void vkf__fixture_finish(vkf__fixture *fixture);

// Where a variant takes none of the cases that are drawn for it, so many times as many are drawn.
#define VKF_FIXTURE_TRIES 8u

// The constants of a drawn case are given the edge shapes, too, and so many others of drawn sizes and values. Of these
// are left out those for which something is to be compiled yet.
#define VKF_FIXTURE_SIZES 4u

// Runs so many drawn cases and the others of their constants, until one is wrong. What the self-test tries once for all
// constants is not among them. Cases larger than what the device binds are left out. Statuses are those of the cases.
VKF_MUST_CHECK vkf_status vkf__fixture_draw(vkf__fixture *fixture, uint32_t draws);

#endif
