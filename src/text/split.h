// Cuts a piece at the matches of a pattern, in the five ways that tokenizer files name.
#ifndef VKF_TEXT_SPLIT_H
#define VKF_TEXT_SPLIT_H

#include "text/aligned_text.h"
#include "text/pattern.h"

// In the order of vkf__split_behavior_names.
typedef enum vkf__split_behavior {
    VKF_SPLIT_REMOVED = 0,          // "the-final--countdown" at '-': the, final, countdown
    VKF_SPLIT_ISOLATED,             // the, -, final, -, -, countdown
    VKF_SPLIT_MERGED_WITH_PREVIOUS, // the-, final-, -, countdown
    VKF_SPLIT_MERGED_WITH_NEXT,     // the, -final, -, -countdown
    VKF_SPLIT_CONTIGUOUS,           // the, -, final, --, countdown
    VKF_SPLIT_BEHAVIOR_COUNT
} vkf__split_behavior;
extern const char *const vkf__split_behavior_names[VKF_SPLIT_BEHAVIOR_COUNT];

// These fill text->spans from a piece. Here every code point that passes the test is a match ...
VKF_MUST_CHECK vkf_status vkf__find_code_points(vkf__aligned_text *text, const vkf__piece *piece,
                                                vkf__code_point_test test);
// ... and here every match of a pattern. The caller ends the search.
VKF_MUST_CHECK vkf_status vkf__find_pattern(vkf__aligned_text *text, const vkf__piece *piece,
                                            vkf__pattern_search *search, bool inverted);

// Adds the pieces that text->spans make, for a vkf__cut_fn.
VKF_MUST_CHECK vkf_status vkf__split_at_spans(vkf__aligned_text *text, vkf__split_behavior behavior);

#endif
