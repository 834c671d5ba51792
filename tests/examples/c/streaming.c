// Text that arrives as it is made: each line of standard input is a prompt, whose continuation is printed part by part.
// An interrupt (Ctrl-C) ends the continuation under way and not the program; so does --parts, after so many.
//
// streaming MODEL-DIRECTORY [--parts N] [--tokens N]
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vkformer/vkformer.h>

enum { MAX_LINE = 4096 };

typedef struct stream {
    unsigned long part, max_parts; // max_parts 0: no limit
} stream;

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static void print_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    if (severity >= VKF_SEVERITY_WARNING)
        fprintf(stderr, "%s\n", text);
}

// Parts come in whole characters. The answer says whether there is to be another one.
static bool print_part(void *user, uint32_t prompt, const char *bytes, size_t size_bytes)
{
    stream *s = user;
    (void)prompt;
    fwrite(bytes, 1, size_bytes, stdout);
    fflush(stdout);
    s->part++;
    return !interrupted && (s->max_parts == 0 || s->part < s->max_parts);
}

// A long prompt is asked the same question between its parts.
static bool go_on(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user, (void)done, (void)total, (void)what;
    return !interrupted;
}

static vkf_status continue_line(vkf_generator *generator, const char *line, uint32_t max_tokens, stream *s)
{
    static const char *const reasons[VKF_STOP_REASON_COUNT] = {"length", "end", "context", "cancelled"};
    const vkf_text prompt = {line, strlen(line)};
    vkf_continuation continuation = {0};
    s->part = 0;
    interrupted = 0;
    const vkf_generator_args args = {
        .prompts = &prompt,
        .count = 1,
        .max_new_tokens = max_tokens,
        .on_text = print_part,
        .on_text_user = s,
        .progress = go_on,
        .out_continuations = &continuation,
    };
    vkf_status status = vkf_generator_run(generator, &args);
    if (status == VKF_ERROR_CANCELLED) { // before there was a token
        printf("\n[0 tokens, cancelled]\n");
        return VKF_OK;
    }
    if (status == VKF_OK)
        printf("\n[%u tokens, %s]\n", continuation.id_count, reasons[continuation.reason]);
    vkf_continuation_free(&continuation);
    return status;
}

static vkf_status continue_lines(vkf_generator *generator, uint32_t max_tokens, stream *s)
{
    char line[MAX_LINE];
    vkf_status status = VKF_OK;
    while (status == VKF_OK && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\r\n")] = 0;
        status = continue_line(generator, line, max_tokens, s);
    }
    return status;
}

static unsigned long number_after(int argc, char **argv, const char *option, unsigned long otherwise)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], option) == 0)
            return strtoul(argv[i + 1], NULL, 10);
    }
    return otherwise;
}

int main(int argc, char **argv)
{
    vkf_context *context = NULL;
    vkf_generator *generator = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: streaming MODEL-DIRECTORY [--parts N] [--tokens N]\n");
        return 2;
    }
    stream s = {.max_parts = number_after(argc, argv, "--parts", 0)};
    signal(SIGINT, note_interrupt);
    vkf_status status = vkf_context_create(&(vkf_context_desc){.message = print_message}, &context);
    if (status == VKF_OK)
        status = vkf_generator_load(context, &(vkf_generator_desc){.directory = argv[1]}, &generator);
    if (status == VKF_OK)
        status = continue_lines(generator, (uint32_t)number_after(argc, argv, "--tokens", 64), &s);
    vkf_generator_destroy(&generator);
    vkf_context_destroy(&context);
    return status == VKF_OK ? EXIT_SUCCESS : EXIT_FAILURE; // the message has said why
}
