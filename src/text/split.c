// Finds matches in a piece, and cuts the piece at them.
#include "text/split.h"

const char *const vkf__split_behavior_names[VKF_SPLIT_BEHAVIOR_COUNT] = {
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous",
};

vkf_status vkf__find_code_points(vkf__aligned_text *text, const vkf__piece *piece, vkf__code_point_test test)
{
    vkf_status status = VKF_OK;
    const char *bytes = text->now.bytes;
    uint32_t done = piece->begin;
    text->span_count = 0;
    for (uint32_t at = piece->begin; at < piece->end && status == VKF_OK;) {
        uint32_t next = at + (uint32_t)vkf__utf8_bytes(bytes + at);
        if (test(vkf__utf8_read(bytes + at))) {
            if (done < at)
                status = vkf__text_add_span(text, done, at, false);
            if (status == VKF_OK)
                status = vkf__text_add_span(text, at, next, true);
            done = next;
        }
        at = next;
    }
    if (status == VKF_OK && done < piece->end)
        status = vkf__text_add_span(text, done, piece->end, false);
    return status;
}

vkf_status vkf__find_pattern(vkf__aligned_text *text, const vkf__piece *piece, vkf__pattern_search *search,
                             bool inverted)
{
    vkf_status status = VKF_OK;
    size_t length = piece->end - piece->begin;
    size_t done = 0;
    text->span_count = 0;
    vkf__pattern_search_text(search, text->now.bytes + piece->begin, length);
    for (;;) {
        bool found = false;
        size_t begin = 0;
        size_t end = 0;
        VKF_RETURN_IF_ERROR(vkf__pattern_next(search, &found, &begin, &end));
        if (!found)
            break;
        if (done < begin)
            VKF_RETURN_IF_ERROR(vkf__text_add_span(text, piece->begin + done, piece->begin + begin, inverted));
        VKF_RETURN_IF_ERROR(vkf__text_add_span(text, piece->begin + begin, piece->begin + end, !inverted));
        done = end;
    }
    if (done < length)
        status = vkf__text_add_span(text, piece->begin + done, piece->end, inverted);
    return status;
}

// Whether a span joins the one looked at before it. `previous_match` is false where that is no match, and for the
// first.
static bool joins(vkf__split_behavior behavior, bool match, bool previous_match)
{
    return behavior == VKF_SPLIT_CONTIGUOUS ? match == previous_match : match && !previous_match;
}

// MergedWithNext starts from the end, because the last of several matches is the one that joins.
static vkf_status split_from_end(vkf__aligned_text *text)
{
    size_t kept = text->span_count;
    bool previous = false;
    for (size_t i = text->span_count; i > 0; i--) {
        vkf__matched_span span = text->spans[i - 1];
        if (kept < text->span_count && joins(VKF_SPLIT_MERGED_WITH_NEXT, span.match, previous))
            text->spans[kept].begin = span.begin;
        else
            text->spans[--kept] = span;
        previous = span.match;
    }
    vkf_status status = VKF_OK;
    for (size_t i = kept; i < text->span_count && status == VKF_OK; i++)
        status = vkf__text_add_piece(text, text->spans[i].begin, text->spans[i].end, VKF_NO_TOKEN);
    return status;
}

static vkf_status split_merged(vkf__aligned_text *text, vkf__split_behavior behavior)
{
    vkf_status status = VKF_OK;
    bool previous = false;
    vkf__byte_span open = {0, 0};
    for (size_t i = 0; i < text->span_count && status == VKF_OK; i++) {
        const vkf__matched_span *span = &text->spans[i];
        if (i > 0 && joins(behavior, span->match, previous)) {
            open.end = span->end;
        } else {
            if (i > 0)
                status = vkf__text_add_piece(text, open.begin, open.end, VKF_NO_TOKEN);
            open = (vkf__byte_span){span->begin, span->end};
        }
        previous = span->match;
    }
    if (status == VKF_OK && text->span_count > 0)
        status = vkf__text_add_piece(text, open.begin, open.end, VKF_NO_TOKEN);
    return status;
}

vkf_status vkf__split_at_spans(vkf__aligned_text *text, vkf__split_behavior behavior)
{
    if (behavior == VKF_SPLIT_MERGED_WITH_NEXT)
        return split_from_end(text);
    if (behavior == VKF_SPLIT_MERGED_WITH_PREVIOUS || behavior == VKF_SPLIT_CONTIGUOUS)
        return split_merged(text, behavior);
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < text->span_count && status == VKF_OK; i++) {
        const vkf__matched_span *span = &text->spans[i];
        if (behavior == VKF_SPLIT_ISOLATED || !span->match)
            status = vkf__text_add_piece(text, span->begin, span->end, VKF_NO_TOKEN);
    }
    return status;
}
