// vkformer tokenize: turns text into token ids, or ids into text, with a tokenizer file. It needs neither a device nor
// a context.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "input/line_reader.h"
#include "output/file_output.h"
#include "output/json_output.h"
#include "output/visible_text.h"

typedef struct tokenize_options {
    const char *path;
    const char *output;
    vkf_encode_options encode;
    bool pair;   // records are pairs of texts
    bool nul;    // records end with a zero byte
    bool decode; // from ids to text
} tokenize_options;

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer tokenize [OPTIONS] TOKENIZER\n"
          "\n"
          "Turns every line of the standard input into tokens, as TOKENIZER says, and prints a JSON object for each:\n"
          "ids, offsets (in bytes of the line), type_ids, special_tokens_mask. TOKENIZER is a tokenizer.json, or a\n"
          "directory with one, with Marian's source.spm, target.spm and vocab.json, or with what older checkpoints\n"
          "have: vocab.txt, vocab.json and merges.txt, or a SentencePiece model. No device is needed.\n"
          "\n"
          "  --pair               take lines in twos, each two as one pair of texts\n"
          "  --no-special-tokens  leave out what the tokenizer adds around a text; with --decode, what is special\n"
          "  --max-len N          truncate to N tokens\n"
          "  --no-truncation      do not truncate, even where the file says so\n"
          "  --decode             take lines of ids, with blanks between, and print {\"text\": ...} for each\n"
          "  -z, --null           records end with a zero byte, not with a line\n"
          "  -o, --output FILE    print to FILE\n" VKF_EVERY_HELP("  "),
          stdout);
}

static bool take_no_truncation(const vkf_option *option, const char *value, void *options)
{
    (void)option;
    (void)value;
    ((tokenize_options *)options)->encode.truncation = VKF_TRUNCATION_NONE;
    return true;
}

static const vkf_option own[] = {
    VKF_OPTION(tokenize_options, "pair", FLAG, pair),
    VKF_OPTION(tokenize_options, "no-special-tokens", FLAG, encode.no_special_tokens),
    VKF_OPTION_WITHIN(tokenize_options, "max-len", U32, encode.max_length, 1, 1u << 30),
    {.name = "no-truncation", .take = take_no_truncation, .kind = VKF_OPTION_SWITCH},
    {.name = "null", .kind = VKF_OPTION_FLAG, .offset = offsetof(tokenize_options, nul), .letter = 'z'},
    VKF_OPTION(tokenize_options, "decode", FLAG, decode),
    {.name = "output", .kind = VKF_OPTION_TEXT, .offset = offsetof(tokenize_options, output), .letter = 'o'},
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    tokenize_options *options = user;
    if (argc - optind != 1) {
        vkf_print_error("one tokenizer is wanted, and %d are given; see vkformer tokenize --help", argc - optind);
        return false;
    }
    options->path = argv[optind];
    if (!options->decode || !options->pair)
        return true;
    vkf_print_error("--decode knows no pairs");
    return false;
}

typedef struct record {
    const char *text;
    size_t size_bytes;
} record;

// Readers for a text and, for a pair, for the second text. Each text is valid until its reader reads the next one.
typedef struct readers {
    vkf_line_reader readers[2];
    record records[2];
    uint64_t lines_taken;
} readers;

// Reads the next line or record, without its end.
static vkf_line_result read_record(readers *r, size_t index)
{
    vkf_line_reader *reader = &r->readers[index];
    reader->number = r->lines_taken++;
    vkf_line_result result = vkf_line_next(reader);
    if (result == VKF_LINE_TAKEN)
        r->records[index] = (record){reader->text, reader->size_bytes};
    return result;
}

static void print_encoding(FILE *out, const vkf_encoding *encoding)
{
    fputs("{\"ids\":[", out);
    for (uint32_t i = 0; i < encoding->count; i++)
        vkf_print_on(out, "%s%ld", i > 0 ? "," : "", (long)encoding->ids[i]);
    fputs("],\"offsets\":[", out);
    for (uint32_t i = 0; i < encoding->count; i++)
        vkf_print_on(out, "%s[%zu,%zu]", i > 0 ? "," : "", encoding->offsets[i].begin, encoding->offsets[i].end);
    fputs("],\"type_ids\":[", out);
    for (uint32_t i = 0; i < encoding->count; i++)
        vkf_print_on(out, "%s%ld", i > 0 ? "," : "", (long)encoding->type_ids[i]);
    fputs("],\"special_tokens_mask\":[", out);
    for (uint32_t i = 0; i < encoding->count; i++)
        vkf_print_on(out, "%s%d", i > 0 ? "," : "", encoding->special_tokens_mask[i]);
    fputs("]}\n", out);
}

static bool encode_record(const tokenize_options *options, const vkf_tokenizer *tokenizer, const record records[2],
                          FILE *out)
{
    vkf_encoding encoding;
    const vkf_text texts[] = {{records[0].text, records[0].size_bytes}, {records[1].text, records[1].size_bytes}};
    vkf_status status =
        vkf_tokenizer_encode(tokenizer, &texts[0], options->pair ? &texts[1] : NULL, &options->encode, &encoding);
    if (status != VKF_OK)
        return false;
    print_encoding(out, &encoding);
    vkf_encoding_free(&encoding);
    return true;
}

// Parses ids separated by blanks; NULL (message printed) for anything else. The caller frees them.
static int32_t *read_ids(const record *line, uint32_t *out_count)
{
    int32_t *ids = calloc(line->size_bytes / 2 + 1, sizeof *ids);
    uint32_t count = 0;
    if (!ids) {
        vkf_print_error("memory is exhausted");
        return NULL;
    }
    for (const char *at = line->text + strspn(line->text, " \t"); *at; at += strspn(at, " \t")) {
        char *end;
        errno = 0;
        long id = strtol(at, &end, 10);
        if (end == at || (*end && !strchr(" \t", *end)) || errno || id < 0 || id > INT32_MAX) {
            vkf_print_error("'%.40s' begins with no id", at);
            free(ids);
            return NULL;
        }
        ids[count++] = (int32_t)id;
        at = end;
    }
    *out_count = count;
    return ids;
}

static bool print_text(FILE *out, const char *text, size_t bytes)
{
    json_t *object = json_pack("{s:o}", "text", json_stringn(text, bytes));
    bool written = vkf_write_json(object, out, JSON_COMPACT);
    json_decref(object);
    fputc('\n', out);
    return written;
}

static bool decode_record(const tokenize_options *options, const vkf_tokenizer *tokenizer, const record *line,
                          FILE *out)
{
    uint32_t count = 0;
    size_t bytes = 0;
    char *text = NULL;
    bool skip = options->encode.no_special_tokens;
    int32_t *ids = read_ids(line, &count);
    bool done = ids && vkf_tokenizer_decode(tokenizer, ids, count, skip, &bytes, NULL) == VKF_OK;
    if (done) {
        size_t capacity = bytes + 1;
        text = malloc(capacity);
        done = text && vkf_tokenizer_decode(tokenizer, ids, count, skip, &capacity, text) == VKF_OK;
        done = done && print_text(out, text, bytes);
    }
    free(text);
    free(ids);
    return done;
}

static bool run_records(const tokenize_options *options, const vkf_tokenizer *tokenizer, FILE *out)
{
    readers r = {.records = {{0}, {0}}};
    bool done = true;
    vkf_line_result result = VKF_LINE_TAKEN;
    for (size_t i = 0; i < 2; i++)
        r.readers[i] = (vkf_line_reader){
            .stream = stdin,
            .name = "the standard input",
            .max_bytes = VKF_LINE_MAX_BYTES,
            .by_zeros = options->nul,
        };
    while (done && (result = read_record(&r, 0)) == VKF_LINE_TAKEN) {
        vkf_line_result second = options->pair ? read_record(&r, 1) : VKF_LINE_TAKEN;
        if (second == VKF_LINE_END)
            vkf_print_error("the last text has no second one beside it");
        if (second != VKF_LINE_TAKEN)
            done = false;
        else if (options->decode)
            done = decode_record(options, tokenizer, &r.records[0], out);
        else
            done = encode_record(options, tokenizer, r.records, out);
    }
    vkf_line_reader_free(&r.readers[0]);
    vkf_line_reader_free(&r.readers[1]);
    return done && result == VKF_LINE_END;
}

static bool tokenize(const tokenize_options *options)
{
    vkf_tokenizer_desc desc = {
        .path = options->path, .message = vkf_print_message, .min_severity = VKF_SEVERITY_WARNING};
    vkf_tokenizer *tokenizer = NULL;
    if (vkf_tokenizer_load(&desc, &tokenizer) != VKF_OK)
        return false;
    const vkf__host host = vkf_printing_host();
    vkf__new_file file = {0};
    bool done = !options->output || vkf__new_file_open(&host, options->output, &file) == VKF_OK;
    done = done && run_records(options, tokenizer, options->output ? file.stream : stdout);
    if (done && options->output)
        done = vkf__new_file_commit(&file) == VKF_OK;
    vkf__new_file_discard(&file);
    vkf_tokenizer_destroy(&tokenizer);
    return done;
}

static int run(void *user)
{
    tokenize_options *options = user;
    vkf_find_tokenizer(&options->path);
    return tokenize(options) ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_tokenize(int argc, char **argv)
{
    tokenize_options options = {0};
    return vkf_command_run(&command, argc, argv, &options, NULL);
}
