// What a fuzz target gives to its driver: libFuzzer, which finds inputs by coverage, or fuzz_main.c, which mutates the
// target's seeds and runs as an ordinary test.
#ifndef VKF_TESTS_FUZZ_H
#define VKF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct fuzz_seed {
    const void *data;
    size_t size_bytes;
} fuzz_seed;

#define FUZZ_TEXT(text)       \
    {                         \
        text, sizeof text - 1 \
    }

extern const fuzz_seed fuzz_seeds[];
extern const size_t fuzz_seed_count;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

// What must hold for every input; aborts, as a driver expects of a finding.
#define FUZZ_CHECK(condition)                                                         \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

#endif
