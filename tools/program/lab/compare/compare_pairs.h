// The tensors of two safetensors files, matched by name, and the order in which they are shown.
#ifndef VKF_PROGRAM_COMPARE_PAIRS_H
#define VKF_PROGRAM_COMPARE_PAIRS_H

#include "io/safetensors.h"
#include "lab/compare/tensor_error.h"

typedef enum vkf_pair_verdict {
    VKF_PAIR_WITHIN, // within the tolerance
    VKF_PAIR_BEYOND,
    VKF_PAIR_SHAPES,         // shapes differ, so nothing was compared
    VKF_PAIR_TESTED_ONLY,    // the reference has no tensor of that name
    VKF_PAIR_REFERENCE_ONLY, // the tested file has no tensor of that name
} vkf_pair_verdict;

typedef struct vkf_tensor_pair {
    const vkf__stored_tensor *tested, *reference; // one may be NULL
    size_t place;                                 // in the order of the files
    vkf_pair_verdict verdict;
    bool exact;             // whole numbers on both sides, so no tolerance
    vkf_tensor_error error; // for WITHIN and BEYOND
} vkf_tensor_pair;

typedef enum vkf_pair_order { VKF_ORDER_FILE = 0, VKF_ORDER_NAME, VKF_ORDER_ERROR } vkf_pair_order;

const char *vkf_pair_name(const vkf_tensor_pair *pair);

// Lists every tensor of either file that one of the patterns names, or every tensor where there are no patterns. They
// are in the order of the tested file, with those of the reference alone at the end, and not judged yet. A pattern with
// one of * ? [ is a glob; any other is the beginning of a name. vkf__free() releases the array. Statuses:
// INVALID_ARGUMENT (a pattern names no tensor), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_pairs_make(const vkf__host *host, const vkf__tensor_file *tested,
                                         const vkf__tensor_file *reference, const char *const *patterns,
                                         size_t pattern_count, vkf_tensor_pair **out_pairs, size_t *out_count);

// Compares a tensor that both files have, element by element. Statuses: as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf_pair_judge(vkf_tensor_pair *pair, double atol, double rtol);

// The worst error over the tensor's scale. Infinite where NaN, infinities or shapes disagree; -1 where nothing was
// compared.
double vkf_pair_badness(const vkf_tensor_pair *pair);

void vkf_pairs_sort(vkf_tensor_pair *pairs, size_t count, vkf_pair_order order);

// Compares by bytes, but runs of digits as numbers: layers.2 comes before layers.10.
int vkf_compare_names(const char *left, const char *right);

#endif
