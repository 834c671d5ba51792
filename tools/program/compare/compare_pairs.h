// The tensors of two safetensors files, matched by name, and the order in which they are shown.
#ifndef VKF_PROGRAM_COMPARE_PAIRS_H
#define VKF_PROGRAM_COMPARE_PAIRS_H

#include "compare/tensor_error.h"
#include "io/safetensors.h"

typedef enum vkf_pair_verdict {
    VKF_PAIR_WITHIN, // of the tolerance
    VKF_PAIR_BEYOND,
    VKF_PAIR_SHAPES,         // they differ, so that nothing was compared
    VKF_PAIR_TESTED_ONLY,    // no tensor of that name in the reference's file
    VKF_PAIR_REFERENCE_ONLY, // nor in the tested one
} vkf_pair_verdict;

typedef struct vkf_tensor_pair {
    const vkf__stored_tensor *tested, *reference; // one may be NULL
    size_t place;                                 // in the order of the files
    vkf_pair_verdict verdict;
    bool exact;             // whole numbers on both sides: no tolerance
    vkf_tensor_error error; // of WITHIN and BEYOND
} vkf_tensor_pair;

typedef enum vkf_pair_order { VKF_ORDER_FILE = 0, VKF_ORDER_NAME, VKF_ORDER_ERROR } vkf_pair_order;

const char *vkf_pair_name(const vkf_tensor_pair *pair);

// Every tensor of either file that one of the patterns names (or every one where there are none), in the order of the
// tested file, what the reference alone has at the end; not judged yet. A pattern with one of * ? [ is a glob, any other
// one the beginning of a name. vkf__free() releases the array. Statuses: INVALID_ARGUMENT (a pattern names no tensor),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_pairs_make(const vkf__host *host, const vkf__tensor_file *tested,
                                         const vkf__tensor_file *reference, const char *const *patterns,
                                         size_t pattern_count, vkf_tensor_pair **out_pairs, size_t *out_count);

// Compares what stands in both files, element by element. Statuses: as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf_pair_judge(vkf_tensor_pair *pair, double atol, double rtol);

// The worst error over the tensor's scale; infinite where NaN, infinities or shapes disagree, -1 of what was not compared.
double vkf_pair_badness(const vkf_tensor_pair *pair);

void vkf_pairs_sort(vkf_tensor_pair *pairs, size_t count, vkf_pair_order order);

// By bytes, but runs of digits as numbers: layers.2 before layers.10.
int vkf_compare_names(const char *left, const char *right);

#endif
