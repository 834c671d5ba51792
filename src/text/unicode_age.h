// Code points that Unicode added, or classified differently, after the tables of the library `tokenizers` were made.
// Those tables are of Unicode 8 for the categories of BERT's normaliser and punctuation, and of Unicode 9 for marks and
// normal forms. Models were trained with them, so these code points are treated here as they were then.
#ifndef VKF_TEXT_UNICODE_AGE_H
#define VKF_TEXT_UNICODE_AGE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum vkf__age_list {
    VKF_AGE_CONTROL = 0,   // not treated as Cf
    VKF_AGE_PUNCTUATION,   // not as P*
    VKF_AGE_NONSPACING,    // not as Mn
    VKF_AGE_MARK,          // not as M*, nor as marks with an order
    VKF_AGE_DECOMPOSITION, // not as something that decomposes
    VKF_AGE_COUNT
} vkf__age_list;

bool vkf__is_newer(vkf__age_list list, uint32_t code_point);

#endif
