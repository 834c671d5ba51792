// JSON that the program reads back: two outputs of `vkformer profile` or of `vkformer shaders`, of which --diff tells
// what changed, and an index of `vkformer embed`. A byte 1 parts the two outputs; the index is the whole input.
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "../unit/scratch_directory.h"
#include "command/commands.h"
#include "embed/embed_state.h"
#include "fuzz.h"

#define TIMES "{\"median\":2,\"min\":1,\"max\":3,\"iqr\":1,\"runs\":[1,2,3]}"
#define DISPATCH                                                                                             \
    "{\"submission\":\"step\",\"part\":\"decoder.0\",\"label\":\"norm1\",\"kernel\":\"layer_norm.f32_f32\"," \
    "\"config\":\"rows64\",\"calls\":1,\"workgroups\":[1,1,1],\"gpu_ns\":" TIMES ",\"flops\":512.0,"         \
    "\"bytes_read\":1e3,\"bytes_written\":2,\"roof_fraction\":0.5,\"bound\":\"latency\",\"counters\":null}"
#define PROFILE                                                                                                 \
    "{\"schema\":\"vkformer-profile\",\"version\":1,\"device\":{\"name\":\"a\",\"driver\":\"b\"},\"warmup\":2," \
    "\"wall_ns\":" TIMES ",\"counters\":[],\"submissions\":[{\"name\":\"step\",\"calls\":1,\"gpu_ns\":" TIMES   \
    "}],\"dispatches\":["
#define SHADER                                                                                                   \
    "{\"device\":\"a\",\"driver\":\"b\",\"kernel\":\"copy.f32_f32\",\"config\":\"flat64\",\"constants\":\"\","   \
    "\"usable\":true,\"compiled\":true,\"spirv_bytes\":3188,\"registers\":144,\"spills\":0,\"scratch_bytes\":0," \
    "\"shared_bytes\":0,\"instructions\":497,\"waves\":10}"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT(PROFILE DISPATCH "]}\1" PROFILE DISPATCH "," DISPATCH "]}"),
    FUZZ_TEXT("[" SHADER "]\1[" SHADER "," SHADER "]"),
    FUZZ_TEXT(SHADER "\n" SHADER "\1" SHADER),
    FUZZ_TEXT("{\"text\":\"a\",\"tokens\":3,\"embedding\":[0.5,-1e-3,2]}\n{\"file\":\"b\",\"embedding\":[1,0,0]}\n"),
    FUZZ_TEXT("{\"text\":\"a\",\"embedding\":[null,1,2]}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static scratch_directory scratch;

static void finish(void)
{
    scratch_list(&scratch, 1);
    rmdir(scratch.path);
}

static void start(void)
{
    if (scratch.path[0])
        return;
    snprintf(scratch.path, sizeof scratch.path, "/tmp/vkformer-fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(scratch.path) && atexit(finish) == 0);
}

// What the program prints goes nowhere meanwhile.
typedef struct silence {
    int out, error;
} silence;

static silence be_silent(void)
{
    fflush(stdout);
    silence kept = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int nowhere = open("/dev/null", O_WRONLY);
    FUZZ_CHECK(kept.out >= 0 && kept.error >= 0 && nowhere >= 0);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    return kept;
}

static void speak_again(silence kept)
{
    fflush(stdout);
    dup2(kept.out, STDOUT_FILENO);
    dup2(kept.error, STDERR_FILENO);
    close(kept.out);
    close(kept.error);
}

static int diff(int (*command)(int argc, char **argv), const char *before, const char *after)
{
    char name[] = "vkformer", option[] = "--diff", paths[2][512];
    snprintf(paths[0], sizeof paths[0], "%s", before);
    snprintf(paths[1], sizeof paths[1], "%s", after);
    char *argv[] = {name, option, paths[0], paths[1], NULL};
    optind = 0; // glibc and musl begin anew
    return command(4, argv);
}

static bool search(const char *index_path)
{
    float embeddings[] = {1, 2, 3, 0, 0, 0};
    char text[] = "a", other[] = "b";
    vkf_text_item items[] = {{.text = text, .size_bytes = 1}, {.text = other, .size_bytes = 1}};
    vkf_embed_part parts[] = {{.text = 0, .end = 1}, {.text = 1, .end = 1}};
    const vkf_embed_options options = {.index_path = index_path, .top = 2};
    const vkf_embed_state state = {
        .options = &options,
        .texts = {.list = items, .count = 2},
        .parts = parts,
        .count = 2,
        .dim = 3,
        .embeddings = embeddings,
    };
    return vkf_embed_search(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    start();
    const uint8_t *parting = memchr(data, 1, size_bytes);
    size_t before_bytes = parting ? (size_t)(parting - data) : size_bytes;
    char before[512], after[512];
    snprintf(before, sizeof before, "%s", scratch_write(&scratch, "before.json", data, before_bytes));
    snprintf(after, sizeof after, "%s",
             scratch_write(&scratch, "after.json", parting ? parting + 1 : data,
                           parting ? size_bytes - before_bytes - 1 : 0));
    silence kept = be_silent();
    int codes[] = {diff(vkf_cmd_profile, before, after), diff(vkf_cmd_shaders, before, after)};
    scratch_write(&scratch, "before.json", data, size_bytes);
    (void)search(before);
    speak_again(kept);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        FUZZ_CHECK(codes[i] == VKF_EXIT_DONE || codes[i] == VKF_EXIT_FAILED || codes[i] == VKF_EXIT_BEYOND);
    return 0;
}
