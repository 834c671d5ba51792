// Turns a text into tokens: makes it valid, cuts it at added tokens, normalises it, cuts it into pieces, tokenises and
// truncates it, and puts the tokens between special ones.

#include "text/byte_level.h"
#include "text/tokenizer.h"
#include "text/valid_text.h"

typedef struct token {
    int32_t id;
    int32_t word;           // the number of its piece
    vkf__byte_span offsets; // in the valid text
    const char *text;       // the text that post-processors see
    uint32_t text_bytes;
} token;

typedef struct sequence {
    vkf__valid_text valid;
    vkf__aligned_text text;
    token *tokens;
    size_t count;
    size_t capacity;
    size_t begin; // the tokens that truncation leaves begin here
    size_t end;
    uint32_t windows;
} sequence;

static void free_sequence(const vkf__host *host, sequence *freed)
{
    vkf__valid_text_free(&freed->valid);
    vkf__aligned_text_free(&freed->text);
    vkf__free(host, freed->tokens);
}

static vkf_status fail_limit(const vkf__host *host, size_t limit)
{
    return vkf__fail(host, VKF_ERROR_TOO_LARGE, "the tokenizer's file makes more than %zu tokens of the text", limit);
}

static vkf_status add_token(const vkf__host *host, sequence *made, token added)
{
    if (made->count >= made->text.limit)
        return fail_limit(host, made->text.limit);
    vkf_status status =
        vkf__grow(host, (void **)&made->tokens, sizeof added, made->count, &made->capacity, made->count + 1);
    if (status == VKF_OK)
        made->tokens[made->count++] = added;
    return status;
}

// --- tokens of pieces

// The part of the original that [begin, end) of a piece stands for.
static vkf__byte_span original_of(const sequence *made, const vkf__piece *piece, uint32_t begin, uint32_t end)
{
    const vkf__byte_span *origins = made->text.now.origins + piece->begin;
    uint32_t length = piece->end - piece->begin;
    if (begin == end)
        return (vkf__byte_span){piece->shift + begin, piece->shift + end};
    if (end <= length)
        return (vkf__byte_span){origins[begin].begin, origins[end - 1].end};
    // With a suffix and byte fallback, a model counts bytes that are not in the text. Its places are then taken as they
    // are, as `tokenizers` does.
    return (vkf__byte_span){begin, end};
}

static vkf_status add_piece(const vkf__tokenizer *tokenizer, const vkf__piece *piece, vkf__token_scratch *scratch,
                            sequence *made)
{
    const vkf__token_model *model = &tokenizer->model;
    const char *text = made->text.now.bytes + piece->begin;
    uint32_t length = piece->end - piece->begin;
    int32_t word = (int32_t)(piece - made->text.now.pieces);
    if (piece->token != VKF_NO_TOKEN)
        return add_token(tokenizer->host, made,
                         (token){piece->token, word, original_of(made, piece, 0, length), text, length});
    if (length == 0)
        return VKF_OK;
    scratch->count = 0;
    vkf_status status = model->kind->tokenize(model->self, &model->vocabulary, text, length, scratch);
    for (size_t i = 0; i < scratch->count && status == VKF_OK; i++) {
        const vkf__model_token *from = &scratch->tokens[i];
        token added = {from->id, word, original_of(made, piece, from->begin, from->end), text + from->begin,
                       from->end - from->begin};
        if (!model->kind->surface && tokenizer->post_processor.trims > 0) {
            const vkf__token_text *known = vkf__vocabulary_token(&model->vocabulary, from->id);
            added.text = known->text;
            added.text_bytes = known->bytes;
        }
        status = add_token(tokenizer->host, made, added);
    }
    return status;
}

static vkf_status tokenize_pieces(const vkf__tokenizer *tokenizer, sequence *made)
{
    vkf_status status = VKF_OK;
    vkf__token_scratch scratch = {.host = tokenizer->host, .limit = made->text.limit};
    for (size_t i = 0; i < made->text.now.piece_count && status == VKF_OK; i++)
        status = add_piece(tokenizer, &made->text.now.pieces[i], &scratch, made);
    vkf__token_scratch_free(&scratch);
    return status;
}

static vkf_status make_sequence(const vkf__tokenizer *tokenizer, const char *text, size_t text_bytes, sequence *made)
{
    vkf__aligned_text_init(tokenizer->host, &made->text);
    VKF_RETURN_IF_ERROR(vkf__valid_text_make(tokenizer->host, text, text_bytes, &made->valid));
    VKF_RETURN_IF_ERROR(vkf__aligned_text_set(&made->text, made->valid.bytes, made->valid.size_bytes));
    VKF_RETURN_IF_ERROR(vkf__extract_added_tokens(&tokenizer->added, &tokenizer->normalizer, &made->text));
    VKF_RETURN_IF_ERROR(vkf__pre_tokenize(&tokenizer->pre_tokenizer, &made->text));
    VKF_RETURN_IF_ERROR(tokenize_pieces(tokenizer, made));
    made->begin = 0;
    made->end = made->count;
    made->windows = 1;
    return VKF_OK;
}

// --- truncation, which divides the room between two sequences as `tokenizers` does

static void keep(sequence *cut, size_t count, bool left)
{
    if (count >= cut->end - cut->begin)
        return;
    if (left)
        cut->begin = cut->end - count;
    else
        cut->end = cut->begin + count;
}

// Keeps one window of the text that is truncated. Windows are `room` tokens long, except the last.
static vkf_status keep_window(const vkf__host *host, const vkf__truncation *wanted, size_t room, sequence *cut)
{
    if (wanted->window == 0 && wanted->stride == 0) {
        keep(cut, room, wanted->left);
        return VKF_OK;
    }
    if (wanted->left || wanted->stride >= room)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "windows of %zu tokens cannot have %lu in common%s", room,
                         (unsigned long)wanted->stride, wanted->left ? " where a text is cut at the beginning" : "");
    size_t shift = room - wanted->stride;
    size_t windows = 1 + (cut->count - room + shift - 1) / shift;
    if (wanted->window >= windows)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "window %lu of a text that has %zu",
                         (unsigned long)wanted->window, windows);
    cut->windows = (uint32_t)windows;
    cut->begin = wanted->window * shift;
    cut->end = cut->begin + room < cut->count ? cut->begin + room : cut->count;
    return VKF_OK;
}

// The shorter text stays whole if it takes no more than half of the room, and the longer one gets the rest. Otherwise
// each gets half of the room, and the longer one the odd token.
static void keep_longest_first(sequence *first, sequence *second, size_t max, bool left)
{
    size_t a = first->count;
    size_t b = second->count;
    bool swapped = a > b;
    if (swapped) {
        a = second->count;
        b = first->count;
    }
    b = a > max ? a : max - a > a ? max - a : a;
    if (a + b > max) {
        a = max / 2;
        b = a + max % 2;
    }
    keep(first, swapped ? b : a, left);
    keep(second, swapped ? a : b, left);
}

// A text that is not truncated has exactly one window.
static vkf_status check_first_window(const vkf__host *host, const vkf__truncation *wanted)
{
    if (wanted->window == 0)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "window %lu of a text that has one",
                     (unsigned long)wanted->window);
}

static vkf_status truncate(const vkf__host *host, const vkf__truncation *wanted, size_t special_count, bool pair,
                           sequence sequences[2])
{
    if (wanted->strategy == VKF_TRUNCATION_NONE)
        return check_first_window(host, wanted);
    if (wanted->max_length < special_count)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "texts are to be truncated to %lu tokens, and %zu special "
                         "ones are added to them",
                         (unsigned long)wanted->max_length, special_count);
    size_t max = wanted->max_length - special_count;
    size_t total = sequences[0].count + (pair ? sequences[1].count : 0);
    if (total <= max)
        return check_first_window(host, wanted);
    if (wanted->strategy == VKF_TRUNCATION_LONGEST_FIRST || max == 0) {
        if (wanted->window > 0)
            return check_first_window(host, wanted);
        if (pair && max > 0)
            keep_longest_first(&sequences[0], &sequences[1], max, wanted->left);
        else
            keep(&sequences[0], max, wanted->left);
        if (pair && max == 0)
            keep(&sequences[1], 0, wanted->left);
        return VKF_OK;
    }
    bool second = wanted->strategy == VKF_TRUNCATION_ONLY_SECOND;
    if (second && !pair)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "the second text is to be truncated, and there is none");
    sequence *cut = &sequences[second];
    if (cut->count <= total - max)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE,
                         "there are %zu tokens for %zu places, and the text to be truncated "
                         "has only %zu",
                         total, max, cut->count);
    return keep_window(host, wanted, cut->count - (total - max), cut);
}

// --- offsets of byte-level tokens without their blanks

static bool is_blank(uint32_t code_point)
{
    return code_point == VKF_BYTE_LEVEL_SPACE || vkf__is_whitespace(code_point);
}

static size_t count_leading(const token *of)
{
    size_t count = 0;
    for (size_t at = 0; at < of->text_bytes && is_blank(vkf__utf8_read(of->text + at)); count++)
        at += vkf__utf8_bytes(of->text + at);
    return count;
}

static size_t count_trailing(const token *of)
{
    size_t count = 0;
    for (size_t at = of->text_bytes; at > 0; count++) {
        at = vkf__utf8_before(of->text, 0, at);
        if (!is_blank(vkf__utf8_read(of->text + at)))
            break;
    }
    return count;
}

// Blanks are counted in characters, so that offsets move by characters of the text. They never cross each other.
static void trim(const char *text, token *trimmed, bool first, bool add_prefix_space)
{
    size_t leading = count_leading(trimmed);
    size_t trailing = count_trailing(trimmed);
    vkf__byte_span *offsets = &trimmed->offsets;
    if (leading == 1 && add_prefix_space && (first || offsets->begin == 0))
        leading = 0;
    for (; leading > 0 && offsets->begin < offsets->end; leading--)
        offsets->begin += (uint32_t)vkf__utf8_bytes(text + offsets->begin);
    size_t end = offsets->end;
    size_t left = trailing;
    for (; left > 0 && end > 0; left--)
        end = vkf__utf8_before(text, 0, end);
    if (trailing > 0 && left == 0) // there are that many characters before the end
        offsets->end = (uint32_t)(end > offsets->begin ? end : offsets->begin);
}

static void trim_offsets(const vkf__post_processor *processor, sequence *trimmed)
{
    for (unsigned n = 0; n < processor->trims; n++) {
        for (size_t i = trimmed->begin; i < trimmed->end; i++)
            trim(trimmed->valid.bytes, &trimmed->tokens[i], i == trimmed->begin, processor->add_prefix_space);
    }
}

// --- the result

// Counts tokens, and stops above `most`.
static size_t count_tokens(const vkf__template *template, const sequence sequences[2], bool special, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < template->count && count <= most; i++) {
        vkf__part_kind kind = template->parts[i].kind;
        if (kind == VKF_PART_SPECIAL)
            count += special;
        else
            count += sequences[kind].end - sequences[kind].begin;
    }
    return count;
}

// Allocates all arrays as one block, the widest elements first.
static vkf_status allocate_encoding(const vkf__host *host, size_t count, vkf_encoding *out_encoding)
{
    char *block = NULL;
    size_t each = sizeof(vkf_text_range) + 3 * sizeof(int32_t) + 2;
    if (count > INT32_MAX)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "the text has %zu tokens", count);
    VKF_ALLOC_OR_RETURN(host, block, (count + 1) * each);
    *out_encoding = (vkf_encoding){.count = 0, .allocator = host->allocator};
    out_encoding->offsets = (vkf_text_range *)(void *)block;
    out_encoding->ids = (int32_t *)(void *)(out_encoding->offsets + count + 1);
    out_encoding->type_ids = out_encoding->ids + count + 1;
    out_encoding->words = out_encoding->type_ids + count + 1;
    out_encoding->special_tokens_mask = (uint8_t *)(out_encoding->words + count + 1);
    out_encoding->sequences = (int8_t *)(out_encoding->special_tokens_mask + count + 1);
    return VKF_OK;
}

static void put_sequence(const sequence *from, const vkf__template_part *part, vkf_encoding *encoding)
{
    for (size_t i = from->begin; i < from->end; i++) {
        const token *put = &from->tokens[i];
        uint32_t at = encoding->count++;
        encoding->ids[at] = put->id;
        encoding->type_ids[at] = part->type_id;
        encoding->sequences[at] = (int8_t)part->kind;
        encoding->words[at] = put->word;
        encoding->offsets[at].begin = vkf__valid_text_original(&from->valid, put->offsets.begin);
        encoding->offsets[at].end = vkf__valid_text_original(&from->valid, put->offsets.end);
    }
}

static void put_special(const vkf__template_part *part, vkf_encoding *encoding)
{
    uint32_t at = encoding->count++;
    encoding->ids[at] = part->id;
    encoding->type_ids[at] = part->type_id;
    encoding->special_tokens_mask[at] = 1;
    encoding->sequences[at] = -1;
    encoding->words[at] = -1;
}

static vkf_status assemble(const vkf__tokenizer *tokenizer, const vkf__template *template, const sequence sequences[2],
                           bool special, vkf_encoding *out_encoding)
{
    vkf_encoding made;
    // Bounds the result, because a template may name a sequence any number of times.
    size_t most = sequences[0].text.limit + sequences[1].text.limit + template->special_count;
    size_t count = count_tokens(template, sequences, special, most);
    if (count > most)
        return fail_limit(tokenizer->host, most);
    vkf_status status = allocate_encoding(tokenizer->host, count, &made);
    if (status != VKF_OK)
        return status;
    for (size_t i = 0; i < template->count; i++) {
        const vkf__template_part *part = &template->parts[i];
        if (part->kind != VKF_PART_SPECIAL)
            put_sequence(&sequences[part->kind], part, &made);
        else if (special)
            put_special(part, &made);
    }
    *out_encoding = made;
    return VKF_OK;
}

static vkf__truncation wanted_truncation(const vkf__tokenizer *tokenizer, const vkf_encode_options *options)
{
    vkf__truncation wanted = tokenizer->truncation;
    if (options->truncation != VKF_TRUNCATION_FROM_FILE) {
        wanted.strategy = options->truncation;
        wanted.left = options->truncate_left;
    }
    wanted.window = options->window;
    wanted.stride = options->stride;
    if (options->max_length > 0) {
        wanted.max_length = options->max_length;
        if (wanted.strategy == VKF_TRUNCATION_NONE && options->truncation == VKF_TRUNCATION_FROM_FILE)
            wanted.strategy = VKF_TRUNCATION_LONGEST_FIRST;
    } else if (tokenizer->truncation.strategy == VKF_TRUNCATION_NONE) {
        wanted.strategy = VKF_TRUNCATION_NONE; // no length is given
    }
    return wanted;
}

vkf_status vkf__tokenizer_encode(const vkf__tokenizer *tokenizer, const char *text, size_t text_bytes, const char *pair,
                                 size_t pair_bytes, const vkf_encode_options *options, vkf_encoding *out_encoding)
{
    vkf_status status = VKF_OK;
    sequence sequences[2] = {{.text.host = tokenizer->host}, {.text.host = tokenizer->host}};
    vkf__truncation wanted = wanted_truncation(tokenizer, options);
    const vkf__template *template = pair ? &tokenizer->post_processor.pair : &tokenizer->post_processor.single;
    bool special = !options->no_special_tokens;
    VKF_TRY(make_sequence(tokenizer, text, text_bytes, &sequences[0]));
    if (pair)
        VKF_TRY(make_sequence(tokenizer, pair, pair_bytes, &sequences[1]));
    VKF_TRY(truncate(tokenizer->host, &wanted, special ? template->special_count : 0, pair != NULL, sequences));
    for (size_t i = 0; i < 2; i++)
        trim_offsets(&tokenizer->post_processor, &sequences[i]);
    VKF_TRY(assemble(tokenizer, template, sequences, special, out_encoding));
    out_encoding->windows = sequences[0].windows > sequences[1].windows ? sequences[0].windows : sequences[1].windows;
fail:
    free_sequence(tokenizer->host, &sequences[0]);
    free_sequence(tokenizer->host, &sequences[1]);
    return status;
}

void vkf_encoding_free(vkf_encoding *encoding)
{
    if (!encoding)
        return;
    if (encoding->offsets) // the first array of the block that holds all of them
        encoding->allocator.release(encoding->allocator.user, encoding->offsets);
    *encoding = (vkf_encoding){0};
}
