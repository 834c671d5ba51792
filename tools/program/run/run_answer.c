// Finds the answer to a question in the logits, as the pipeline "question-answering" of transformers 4.57 does. The
// most probable spans of tokens are widened to whole words, spans of the same text add up, and the best text is the
// answer.
#include <stdlib.h>
#include <string.h>

#include "output/json_output.h"
#include "run/run_prediction.h"
#include "text/code_point.h"

#define MAX_ANSWER_TOKENS 15
#define CANDIDATES 12 // of one window

typedef struct candidate {
    double score;
    uint32_t first, last; // tokens
} candidate;

// Inserts best first. Of equally good candidates, the earlier stays first.
static void insert(candidate *list, size_t *count, candidate added)
{
    size_t at = *count;
    while (at > 0 && list[at - 1].score < added.score)
        at--;
    if (at == CANDIDATES)
        return;
    size_t kept = *count < CANDIDATES ? *count : CANDIDATES - 1;
    memmove(list + at + 1, list + at, (kept - at) * sizeof *list);
    list[at] = added;
    *count = kept + 1;
}

// Leaves out the token before every text: its share of the probability says that there is no answer. If a text contains
// the same token, that is a candidate like any other.
static size_t find_candidates(const vkf_prediction *of, const double *starts, const double *ends, candidate *out_list)
{
    size_t count = 0;
    for (uint32_t s = 1; s < of->rows; s++)
        for (uint32_t e = s; e < of->rows && e < s + MAX_ANSWER_TOKENS; e++)
            if (starts[s] * ends[e] > 0)
                insert(out_list, &count, (candidate){starts[s] * ends[e], s, e});
    return count;
}

// Finds the tokens of a word of the text. Words of the question are numbered, too. If the question contains the token
// that comes before every text, that counts as the text's word of the same number, as in transformers.
static bool find_word(const vkf_encoding *tokens, uint32_t token, uint32_t *out_first, uint32_t *out_last)
{
    bool found = false;
    for (uint32_t t = 0; t < tokens->count; t++) {
        if (tokens->sequences[t] != 1 || tokens->words[t] != tokens->words[token])
            continue;
        if (!found)
            *out_first = t;
        *out_last = t;
        found = true;
    }
    return found;
}

// False where the result is not a span of the text.
static bool widen(const vkf_encoding *tokens, const candidate *from, vkf_answer *out_answer)
{
    uint32_t first = 0, last = 0, other = 0;
    if (!find_word(tokens, from->first, &first, &other) || !find_word(tokens, from->last, &other, &last)) {
        first = from->first;
        last = from->last;
    }
    *out_answer = (vkf_answer){from->score, tokens->offsets[first].begin, tokens->offsets[last].end};
    return tokens->sequences[first] == 1 && tokens->sequences[last] == 1 && out_answer->begin <= out_answer->end;
}

// The lower case of the code point at *at in valid UTF-8; advances *at to the next one.
static size_t next_lower(const char *text, size_t *at, uint32_t out_code_points[2])
{
    size_t count = vkf__lower_case(vkf__utf8_read(text + *at), out_code_points);
    *at += vkf__utf8_bytes(text + *at);
    return count;
}

static bool same_text(const char *text, const vkf_answer *a, const vkf_answer *b)
{
    size_t i = a->begin, k = b->begin;
    while (i < a->end && k < b->end) {
        uint32_t x[2] = {0}, y[2] = {0};
        size_t x_count = next_lower(text, &i, x), y_count = next_lower(text, &k, y);
        if (x_count != y_count || memcmp(x, y, sizeof x) != 0)
            return false;
    }
    return i >= a->end && k >= b->end;
}

static void add_answer(vkf_answers *answers, const char *text, vkf_answer added)
{
    for (size_t i = 0; i < answers->count; i++) {
        if (!same_text(text, &answers->list[i], &added))
            continue;
        answers->list[i].score += added.score;
        return;
    }
    answers->list[answers->count++] = added;
}

static bool add_candidates(vkf_answers *answers, const vkf_prediction *of, const double *starts, const double *ends,
                           const vkf_text *text)
{
    candidate found[CANDIDATES];
    vkf_answer widened;
    size_t count = find_candidates(of, starts, ends, found);
    vkf_answer *list = realloc(answers->list, (answers->count + count + 1) * sizeof *list);
    if (!list)
        return false;
    answers->list = list;
    for (size_t i = 0; i < count; i++)
        if (widen(&of->tokens, &found[i], &widened))
            add_answer(answers, text->bytes, widened);
    return true;
}

bool vkf_answers_add(vkf_answers *answers, const vkf_prediction *of, int32_t cls_id, const vkf_text *text)
{
    double *starts = calloc(2 * (size_t)of->rows + 1, sizeof *starts), *ends = starts ? starts + of->rows : NULL;
    bool *excluded = calloc((size_t)of->rows + 1, sizeof *excluded), done = starts && excluded;
    for (uint32_t t = 0; done && t < of->rows; t++)
        excluded[t] = of->tokens.sequences[t] != 1 && of->tokens.ids[t] != cls_id;
    if (done) {
        vkf_probabilities(of->logits, of->rows, 2, excluded, starts);
        vkf_probabilities(of->logits + 1, of->rows, 2, excluded, ends);
        done = add_candidates(answers, of, starts, ends, text);
    }
    free(starts);
    free(excluded);
    return done;
}

json_t *vkf_describe_answer(const vkf_answers *answers, const vkf_text *text)
{
    static const vkf_answer none = {0};
    const vkf_answer *best = &none;
    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].score > best->score)
            best = &answers->list[i];
    json_t *answer = json_object();
    json_object_set_new(answer, "score", json_real(best->score));
    vkf_put_span(answer, text, best->begin, best->end);
    json_object_set_new(answer, "answer", json_stringn(text->bytes + best->begin, best->end - best->begin));
    return answer;
}

void vkf_answers_free(vkf_answers *answers)
{
    free(answers->list);
    *answers = (vkf_answers){0};
}
