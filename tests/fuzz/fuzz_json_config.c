// JSON files: typed reads of a configuration, and the token lists of a vocabulary, which then encode the input itself.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "io/json_file.h"
#include "io/token_table.h"

#define SPECIAL "\"<pad>\",\"<bos>\",\"<eos>\",\"<unk>\""

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{}"),
    FUZZ_TEXT("{\"number\": 64, \"flag\": true, \"real\": 1e-5, \"text\": \"relu\"}"),
    FUZZ_TEXT("{\"number\": 4294967295, \"flag\": false, \"real\": -3, \"text\": \"\\u00e9\"}"),
    FUZZ_TEXT("{\"source\":{\"tokens\":[" SPECIAL ",\"a\",\"ab\",\"\xc3\xa9\",\"t\",\"tok\",\"\\\"\",\":\"]},"
              "\"target\":{\"tokens\":[" SPECIAL ",\"z\"]}}"),
    FUZZ_TEXT("{\"source\":{\"tokens\":[" SPECIAL ",\"a\",\"s\",\"so\"],\"lowercase\":true,\"append_eos\":true},"
              "\"target\":{\"tokens\":[" SPECIAL "]}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void read_config(const char *text, size_t text_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    json_t *root = NULL;
    vkf_status status = vkf__json_parse(&recording.host, "fuzz", text, text_bytes, &root);
    FUZZ_CHECK((status == VKF_OK) == (root != NULL));
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    if (status != VKF_OK) {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT);
        return;
    }
    uint32_t number = 0;
    bool flag;
    float real = 0;
    const char *string = NULL;
    size_t failures = 0;
    failures += vkf__json_u32(&recording.host, "fuzz", root, "number", 1, 4096, &number) != VKF_OK;
    FUZZ_CHECK(failures == 1 || (number >= 1 && number <= 4096));
    failures += vkf__json_bool(&recording.host, "fuzz", root, "flag", &flag) != VKF_OK;
    failures += vkf__json_f32(&recording.host, "fuzz", root, "real", &real) != VKF_OK;
    FUZZ_CHECK(real - real == 0); // finite
    failures += vkf__json_string(&recording.host, "fuzz", root, "text", &string) != VKF_OK;
    FUZZ_CHECK(recording.messages == failures);
    json_decref(root);
}

// Encodes the text, and where every byte met a token as it is, decodes it back.
static void round_trip(const vkf__token_table *table, const char *text, size_t text_bytes)
{
    uint32_t count = 0;
    FUZZ_CHECK(vkf__token_table_encode(table, text, text_bytes, &count, NULL) == VKF_OK);
    FUZZ_CHECK(count <= text_bytes + 1);
    int32_t *ids = calloc(count + 1, sizeof *ids);
    FUZZ_CHECK(ids);
    FUZZ_CHECK(vkf__token_table_encode(table, text, text_bytes, &count, ids) == VKF_OK);
    bool unknown = false;
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_CHECK(vkf__token_table_text(table, ids[i]));
        unknown |= ids[i] == VKF_TOKEN_UNK;
    }
    size_t decoded_bytes = 0;
    FUZZ_CHECK(vkf__token_table_decode(table, ids, count, &decoded_bytes, NULL) == VKF_OK);
    FUZZ_CHECK(unknown ? decoded_bytes < text_bytes : decoded_bytes == text_bytes);
    size_t capacity = decoded_bytes + 1;
    char *decoded = malloc(capacity);
    FUZZ_CHECK(decoded);
    FUZZ_CHECK(vkf__token_table_decode(table, ids, count, &capacity, decoded) == VKF_OK);
    FUZZ_CHECK(capacity == decoded_bytes && decoded[decoded_bytes] == '\0');
    for (size_t i = 0; !unknown && i < text_bytes; i++)
        FUZZ_CHECK(decoded[i] == text[i] || (text[i] >= 'A' && text[i] <= 'Z' && decoded[i] == text[i] + 32));
    free(decoded);
    free(ids);
}

static void read_vocabulary(const char *text, size_t text_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__token_tables tables = {0};
    vkf_status status = vkf__token_tables_parse(&recording.host, "fuzz", text, text_bytes, &tables);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(recording.peak_bytes <= 4096 + 16 * text_bytes);
    if (status == VKF_OK) {
        round_trip(tables.source, text, text_bytes);
        round_trip(tables.target, text, text_bytes);
        for (int32_t id = VKF_TOKEN_SPECIAL_COUNT; vkf__token_table_text(tables.source, id); id++)
            round_trip(tables.source, vkf__token_table_text(tables.source, id),
                       strlen(vkf__token_table_text(tables.source, id)));
    } else {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT);
        FUZZ_CHECK(!tables.source && !tables.target);
    }
    vkf__token_tables_free(&tables);
    FUZZ_CHECK(recording.live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    read_config((const char *)data, size_bytes);
    read_vocabulary((const char *)data, size_bytes);
    return 0;
}
