// Self-tests that are under way, kept through the cache callbacks as text beside the verdicts:
//
//   vkformer-testing 1
//   softmax.f32_f32/row16 77f0d2c1a9e4b853 0 1795798650 4711 180943 4026531836 7f2c9d50-... alma
//
// A line says how many tests of the variant did not end before, since when this one runs, and which process runs it:
// its number, when it started, its process namespace, boot and host. A driver that brings down the process leaves the
// line behind, which is a strike against the variant. A process that something else ends leaves it, too, unless it
// takes the blob out.
#ifndef VKF_KERNEL_TEST_MARKS_H
#define VKF_KERNEL_TEST_MARKS_H

#include "base/process.h"
#include "kernel/select.h"
#include "kernel/text_table.h"

typedef struct vkf__test_mark {
    const vkf__kernel *kernel;
    const vkf__config *config;
    uint32_t strikes;
    int64_t date; // seconds since 1970
    vkf__process_mark tester;
} vkf__test_mark;

// Called for a mark whose process did not come back.
typedef void (*vkf__test_lost_fn)(void *user, const vkf__test_mark *mark);

// Adds to `out` the marks that still hold: of processes that live, and, for half a minute, of those elsewhere, of which
// nothing is known. `lost` gets the others. A mark of this process's own of `ended` (NULL: none) is left out. What is
// malformed or about a variant that has changed is passed over.
void vkf__test_marks_keep(const char *text, size_t size_bytes, const vkf__variant *ended, vkf__test_lost_fn lost,
                          void *user, vkf__text_out *out);

// Adds this process's mark.
void vkf__test_marks_add(vkf__text_out *out, const vkf__variant *variant, uint32_t strikes);

#endif
