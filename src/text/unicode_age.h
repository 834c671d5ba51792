// Code points that Unicode has come to know, or to see differently, after the tables that the library `tokenizers` uses
// were made: of Unicode 8 for the categories of BERT's normaliser and punctuation, of Unicode 9 for marks and normal
// forms. There they are what they were before, and so they are here, as models were trained with that.
#ifndef VKF_TEXT_UNICODE_AGE_H
#define VKF_TEXT_UNICODE_AGE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum vkf__age_list {
    VKF_AGE_CONTROL = 0,   // not seen as Cf
    VKF_AGE_PUNCTUATION,   // as P*
    VKF_AGE_NONSPACING,    // as Mn
    VKF_AGE_MARK,          // as M*, nor as marks with an order
    VKF_AGE_DECOMPOSITION, // as something that decomposes
    VKF_AGE_COUNT
} vkf__age_list;

bool vkf__is_newer(vkf__age_list list, uint32_t code_point);

#endif
