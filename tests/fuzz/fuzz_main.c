// fuzz_<target> [SEED [RUNS [SECONDS]]]: the target on its seeds, on RUNS (2000) random mutations of them, and on more
// until SECONDS (0) have passed. The same SEED (1) gives the same inputs in the same order.
#include <string.h>
#include <time.h>

#include "fuzz.h"

#define MAX_INPUT_BYTES 4096
#define MAX_MUTATIONS 6

typedef struct fuzz_input {
    uint8_t data[MAX_INPUT_BYTES];
    size_t size_bytes;
} fuzz_input;

// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators")
static uint64_t next_random(uint64_t *random)
{
    uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// Below `limit`, which is not 0.
static size_t below(uint64_t *random, size_t limit)
{
    return (size_t)(next_random(random) % limit);
}

// Replaces `old_bytes` at `at`; drops what does not fit.
static void replace(fuzz_input *input, size_t at, size_t old_bytes, const void *data, size_t size_bytes)
{
    size_t tail = input->size_bytes - at - old_bytes;
    if (at + size_bytes + tail > MAX_INPUT_BYTES)
        return;
    memmove(input->data + at + size_bytes, input->data + at + old_bytes, tail);
    memcpy(input->data + at, data, size_bytes);
    input->size_bytes = at + size_bytes + tail;
}

static void insert_word(fuzz_input *input, size_t at, size_t old_bytes, uint64_t *random)
{
    static const char *const words[] = {
        "-1",
        "0",
        "1.5",
        "9223372036854775807",
        "18446744073709551615",
        "1e308",
        "4294967296",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\\",
        "\\u0000",
        "\\ud800",
        "\xff",
        "\xc3\xa9",
        "\xf0\x9f\x98\x80",
        "null",
        "true",
        "[]",
        "{}",
        " ",
        "\"dtype\"",
        "\"shape\"",
        "\"data_offsets\"",
        "\"__metadata__\"",
        "\"BOOL\"",
        "\"F32\"",
        "\"tokens\"",
        "\"source\"",
        "\"<pad>\"",
        "\"a\"",
        "\"type\"",
        "\"Sequence\"",
        "\"content\"",
        "\"Regex\"",
        "(",
        "|",
        "\\\\p{L}+",
    };
    const char *word = words[below(random, sizeof words / sizeof *words)];
    replace(input, at, old_bytes, word, strlen(word));
}

static void insert_part_of_seed(fuzz_input *input, size_t at, size_t old_bytes, uint64_t *random)
{
    const fuzz_seed *seed = &fuzz_seeds[below(random, fuzz_seed_count)];
    if (seed->size_bytes == 0)
        return;
    size_t begin = below(random, seed->size_bytes);
    size_t size_bytes = 1 + below(random, seed->size_bytes - begin);
    replace(input, at, old_bytes, (const uint8_t *)seed->data + begin, size_bytes);
}

static void mutate(fuzz_input *input, uint64_t *random)
{
    size_t at = below(random, input->size_bytes + 1);
    size_t rest = input->size_bytes - at;
    size_t some = below(random, (rest < 16 ? rest : 16) + 1);
    uint8_t byte = (uint8_t)next_random(random);
    uint8_t digit = (uint8_t)('0' + byte % 10);
    switch (below(random, 8)) {
    case 0:
        if (rest > 0)
            input->data[at] ^= (uint8_t)(1u << byte % 8);
        break;
    case 1:
        replace(input, at, rest > 0, &byte, 1);
        break;
    case 2:
        replace(input, at, rest > 0, &digit, 1);
        break;
    case 3:
        replace(input, at, some, "", 0);
        break;
    case 4:
        input->size_bytes = at;
        break;
    case 5:
        insert_part_of_seed(input, at, some, random);
        break;
    default:
        insert_word(input, at, some, random);
        break;
    }
}

static void run_mutation(uint64_t random)
{
    fuzz_input input;
    const fuzz_seed *seed = &fuzz_seeds[below(&random, fuzz_seed_count)];
    FUZZ_CHECK(seed->size_bytes <= MAX_INPUT_BYTES);
    input.size_bytes = seed->size_bytes;
    memcpy(input.data, seed->data, seed->size_bytes);
    for (size_t mutations = 1 + below(&random, MAX_MUTATIONS); mutations > 0; mutations--)
        mutate(&input, &random);
    // On the heap and exactly as long, so that the address sanitizer sees a read beyond the end.
    uint8_t *data = malloc(input.size_bytes > 0 ? input.size_bytes : 1);
    FUZZ_CHECK(data);
    memcpy(data, input.data, input.size_bytes);
    LLVMFuzzerTestOneInput(data, input.size_bytes);
    free(data);
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t runs = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    double seconds = argc > 3 ? strtod(argv[3], NULL) : 0, end_s = now_s() + seconds;
    printf("%s: seed %llu, %llu runs, %g s\n", argv[0], (unsigned long long)seed, (unsigned long long)runs, seconds);
    fflush(stdout);
    for (size_t i = 0; i < fuzz_seed_count; i++)
        LLVMFuzzerTestOneInput(fuzz_seeds[i].data, fuzz_seeds[i].size_bytes);
    uint64_t run = 0;
    for (; run < runs || now_s() < end_s; run++)
        run_mutation(seed * UINT64_C(0x2545f4914f6cdd1d) + run);
    printf("%llu runs without a finding\n", (unsigned long long)run);
    return 0;
}
