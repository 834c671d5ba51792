// Marian's tokenizers: pairs of SentencePiece models, written by hand here. tools/tokenizers/compare-tokenizers
// compares trained ones with transformers.
#include <math.h>

#include "scratch_directory.h"
#include "spm_fixture.h"
#include "tokenizer_fixture.h"

#define B "\xe2\x96\x81" // a blank

static const char vocabulary[] =
    "{\"</s>\": 0, \"<unk>\": 1, \"" B "a\": 2, \"b\": 3, \"" B "ab\": 4, \"" B
    "\": 5, \"ba\": 6, \"x\": 7, \"zz\": 8, "
    "\">>deu<<\": 9, \"y\": 10, \"<0xC3>\": 11, \"<0xA9>\": 12, \"a\": 14, \"gone\": 15, \"<pad>\": 13}";

// A double array that turns "a" into "x" and "ab" into "y".
static void put_charsmap(spm_writer *to)
{
    static uint8_t blob[4 + 4 * 0x301 + 4];
    static const uint32_t units[][2] = {{0, 0x100u << 10},
                                        {0x161, 0x361u << 10 | 1u << 8 | 'a'},
                                        {0x200, 0x80000000u},
                                        {0x262, 0x162u << 10 | 1u << 8 | 'b'},
                                        {0x300, 0x80000002u}};
    blob[0] = (4 * 0x301) & 0xff;
    blob[1] = (4 * 0x301) >> 8;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (size_t byte = 0; byte < 4; byte++)
            blob[4 + 4 * units[i][0] + byte] = (uint8_t)(units[i][1] >> 8 * byte);
    }
    memcpy(blob + sizeof blob - 4, "x\0y", 4);
    spm_put_bytes(to, 2, blob, sizeof blob);
}

static void put_pieces(spm_writer *to)
{
    *to = (spm_writer){.count = 0};
    spm_put_piece(to, "<unk>", 0, VKF_SPM_UNKNOWN);
    spm_put_piece(to, "<s>", 0, VKF_SPM_CONTROL);
    spm_put_piece(to, "</s>", 0, VKF_SPM_CONTROL);
    spm_put_piece(to, B "a", -2, VKF_SPM_NORMAL);
    spm_put_piece(to, "b", -3, VKF_SPM_NORMAL);
    spm_put_piece(to, B "ab", -5.5f, VKF_SPM_NORMAL); // worse than its parts
    spm_put_piece(to, B, -4, VKF_SPM_NORMAL);
    spm_put_piece(to, "ba", -4, VKF_SPM_NORMAL);
    spm_put_piece(to, "x", -4, VKF_SPM_NORMAL);
    spm_put_piece(to, "y", -4, VKF_SPM_NORMAL);
    spm_put_piece(to, "a", -4, VKF_SPM_UNUSED);
    spm_put_piece(to, "lost", -4, VKF_SPM_NORMAL); // not in vocab.json
}

static void setup(tokenizer_fixture *fixture, const spm_writer *source, const spm_writer *target)
{
    recording_host_init(&fixture->recording);
    fixture->tokenizer = (vkf__tokenizer){0};
    assert_int_equal(spm_parse_marian(&fixture->recording.host, source, target, vocabulary, &fixture->tokenizer),
                     VKF_OK);
}

static void test_encode_as_sentencepiece(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    spm_writer model;
    put_pieces(&model);
    setup(&fixture, &model, &model);
    fixture_assert(&fixture, "ab", "2[0,1) 3[1,2) 0*");
    fixture_assert(&fixture, "  ab  \xe2\x96\x81", "2[2,3) 3[3,4) 0*"); // blanks at both ends go
    fixture_assert(&fixture, "b  a", "5[0,1) 3[0,1) 2[1,4) 0*");
    fixture_assert(&fixture, "zz", "5[0,1) 8[0,2) 0*");  // known to vocab.json alone
    fixture_assert(&fixture, "zza", "5[0,1) 1[0,3) 0*"); // unknown characters are one token
    fixture_assert(&fixture, "lost", "5[0,1) 1[0,4) 0*");
    fixture_assert(&fixture, "", "0*");
    fixture_assert_bytes(&fixture, "a", 1, "b", NULL, "2[0,1) 5[0,1) 3[0,1) 0*");
    fixture_assert_bytes(&fixture, "a", 1, NULL, &(vkf_encode_options){.no_special_tokens = true}, "2[0,1)");
    fixture_free(&fixture);
}

static void test_encode_finds_languages_and_special_tokens(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    spm_writer model;
    put_pieces(&model);
    setup(&fixture, &model, &model);
    fixture_assert(&fixture, ">>deu<< ab", "9[0,7) 2[8,9) 3[9,10) 0*");
    fixture_assert(&fixture, ">>xyz<<a", "1[0,7) 2[7,8) 0*");
    fixture_assert(&fixture, ">>deu<<", "9[0,7) 0*");
    fixture_assert(&fixture, "a</s>>>deu<<a<pad>", "2[0,1) 0[1,5) 9[5,12) 2[12,13) 13[13,18) 0*");
    fixture_free(&fixture);
}

static void test_encode_takes_the_longest_rule(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    spm_writer model;
    spm_writer rules = {.count = 0};
    put_pieces(&model);
    put_charsmap(&rules);
    spm_put_message(&model, 3, &rules);
    setup(&fixture, &model, &model);
    fixture_assert(&fixture, "ab", "5[0,1) 10[0,2) 0*");
    fixture_assert(&fixture, "aab", "5[0,1) 7[0,1) 10[1,3) 0*");
    fixture_free(&fixture);
    spm_put_piece(&model, "ab", 0, VKF_SPM_USER_DEFINED); // which no rule changes; vocab.json has no id for it
    setup(&fixture, &model, &model);
    fixture_assert(&fixture, "aab", "5[0,1) 7[0,1) 1[1,3) 0*");
    fixture_free(&fixture);
}

static void test_encode_with_other_blanks(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    spm_writer model;
    spm_writer rules = {.count = 0};
    spm_writer trainer = {.count = 0};
    put_pieces(&model);
    spm_put_number(&rules, 4, 0);    // blanks stay
    spm_put_number(&trainer, 24, 1); // and one stands behind the text
    spm_put_message(&model, 2, &trainer);
    spm_put_message(&model, 3, &rules);
    setup(&fixture, &model, &model);
    fixture_assert(&fixture, "b  b", "3[0,1) 5[1,2) 5[2,3) 3[3,4) 5[3,4) 0*");
    fixture_free(&fixture);
}

static void put_bytes(spm_writer *to)
{
    spm_writer trainer = {.count = 0};
    char name[8];
    put_pieces(to);
    for (unsigned byte = 0; byte < 256; byte++) {
        snprintf(name, sizeof name, "<0x%02X>", byte);
        spm_put_piece(to, name, 0, VKF_SPM_BYTE);
    }
    spm_put_number(&trainer, 35, 1);
    spm_put_message(to, 2, &trainer);
}

static void test_bytes_stand_for_unknown_characters(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    spm_writer model;
    put_bytes(&model);
    setup(&fixture, &model, &model);
    fixture_assert(&fixture, "b\xc3\xa9", "5[0,1) 3[0,1) 11[1,3) 12[1,3) 0*");
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 11, 12, 3}, 4, false,
                           "a\xc3\xa9"
                           "b");
    fixture_assert_decoded(&fixture, (const int32_t[]){11, 3, 12}, 3, false,
                           "\xef\xbf\xbd"
                           "b\xef\xbf\xbd");
    fixture_free(&fixture);
}

static void test_decode_with_the_target_model(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    spm_writer source;
    spm_writer target = {.count = 0};
    put_pieces(&source);
    spm_put_piece(&target, "<unk>", 0, VKF_SPM_UNKNOWN);
    spm_put_piece(&target, B "a", -1, VKF_SPM_NORMAL);
    spm_put_piece(&target, B "ab", -1, VKF_SPM_NORMAL);
    spm_put_piece(&target, "gone", 0, VKF_SPM_CONTROL);
    setup(&fixture, &source, &target);
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 3, 4, 0}, 4, true, "ab ab");
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 3, 4, 0}, 4, false, "ab ab</s>");
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 0, 2, 13}, 4, false, "a</s> a<pad>");
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 0, 5, 3}, 4, false, "a</s>  b"); // not the target's blank
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 15, 4}, 3, false, "a ab");       // says nothing
    fixture_assert_decoded(&fixture, (const int32_t[]){2, 1, 99}, 3, true, "a");
    fixture_free(&fixture);
}

// --- what is refused

typedef struct refusal {
    void (*change)(spm_writer *model);
    vkf_status status;
    const char *named;
} refusal;

static void cut_off(spm_writer *model)
{
    model->count -= 3;
}

static void put_group(spm_writer *model)
{
    spm_put_varint(model, 9 * 8 + 3);
}

static void put_bpe(spm_writer *model)
{
    spm_put_bytes(model, 2, "\x18\x02", 2);
}

static void put_empty_piece(spm_writer *model)
{
    spm_put_piece(model, "", 0, VKF_SPM_NORMAL);
}

static void put_second_unknown(spm_writer *model)
{
    spm_put_piece(model, "<unk2>", 0, VKF_SPM_UNKNOWN);
}

static void put_infinite_score(spm_writer *model)
{
    spm_put_piece(model, "i", -INFINITY, VKF_SPM_NORMAL);
}

static void put_strange_type(spm_writer *model)
{
    spm_put_piece(model, "i", 0, (vkf__spm_type)7);
}

static void put_byte_fallback(spm_writer *model)
{
    spm_put_bytes(model, 2, "\x98\x02\x01", 3);
}

static void put_broken_charsmap(spm_writer *model)
{
    spm_put_bytes(model, 3, "\x12\x04\xff\xff\xff\xff", 6);
}

static void put_denormalizer(spm_writer *model)
{
    spm_put_bytes(model, 5, "\x12\x01\x01", 3);
}

static void put_broken_surface(spm_writer *model)
{
    spm_put_bytes(model, 2, "\xe2\x02\x01\xff", 4);
}

static void drop_everything(spm_writer *model)
{
    model->count = 0;
}

static const refusal refusals[] = {
    {cut_off, VKF_ERROR_FORMAT, "broken or cut off at its byte"},
    {put_group, VKF_ERROR_FORMAT, "broken or cut off at its byte"},
    {put_bpe, VKF_ERROR_UNSUPPORTED, "a model of BPE"},
    {put_empty_piece, VKF_ERROR_FORMAT, "piece 12"},
    {put_second_unknown, VKF_ERROR_FORMAT, "pieces 0 and 12"},
    {put_infinite_score, VKF_ERROR_FORMAT, "piece 12"},
    {put_strange_type, VKF_ERROR_FORMAT, "piece 12"},
    {put_denormalizer, VKF_ERROR_UNSUPPORTED, "denormalizer_spec"},
    {put_broken_surface, VKF_ERROR_FORMAT, "unk_surface"},
    {drop_everything, VKF_ERROR_FORMAT, "no unknown piece"},
    {put_byte_fallback, VKF_ERROR_FORMAT, "only 0 of 256"}, // from here on in source.spm alone
    {put_broken_charsmap, VKF_ERROR_FORMAT, "precompiled_charsmap"},
};

static void assert_refused(const spm_writer *source, const spm_writer *target, const char *vocab, vkf_status status,
                           const char *file, const char *named)
{
    recording_host recording;
    vkf__tokenizer tokenizer = {0};
    recording_host_init(&recording);
    assert_int_equal(spm_parse_marian(&recording.host, source, target, vocab, &tokenizer), status);
    if (!strstr(recording.text, file) || !strstr(recording.text, named))
        print_message("'%s' should name %s and '%s'\n", recording.text, file, named);
    assert_non_null(strstr(recording.text, file));
    assert_non_null(strstr(recording.text, named));
    assert_null(tokenizer.host);
    assert_int_equal(recording.live, 0);
}

static void test_models_that_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        spm_writer good;
        spm_writer bad;
        put_pieces(&good);
        put_pieces(&bad);
        refusals[i].change(&bad);
        assert_refused(&bad, &good, vocabulary, refusals[i].status, "d/source.spm", refusals[i].named);
        if (refusals[i].change != put_byte_fallback && refusals[i].change != put_broken_charsmap)
            assert_refused(&good, &bad, vocabulary, refusals[i].status, "d/target.spm", refusals[i].named);
    }
}

static void test_vocabularies_that_are_refused(void **state)
{
    (void)state;
    spm_writer model;
    put_pieces(&model);
    assert_refused(&model, &model, "{\"</s>\": 0, \"<unk>\": 1}", VKF_ERROR_FORMAT, "d/vocab.json", "'<pad>'");
    assert_refused(&model, &model, "{\"</s>\": -1, \"<unk>\": 1, \"<pad>\": 2}", VKF_ERROR_FORMAT, "d/vocab.json",
                   "'</s>'");
    assert_refused(&model, &model, "{\"</s>\": 0, \"<unk>\": 1, \"<pad>\": 2, \"b\": \"c\"}", VKF_ERROR_FORMAT,
                   "d/vocab.json", "'b'");
    assert_refused(&model, &model, "[", VKF_ERROR_FORMAT, "d/vocab.json", "not valid JSON");
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    spm_writer model;
    spm_writer rules = {.count = 0};
    size_t failures = 0;
    put_pieces(&model);
    put_charsmap(&rules);
    spm_put_message(&model, 3, &rules);
    for (size_t fail_call = 1;; fail_call++) {
        recording_host recording;
        vkf__tokenizer tokenizer = {0};
        vkf_encoding encoding = {0};
        char text[64];
        size_t bytes = sizeof text;
        recording_host_init(&recording);
        recording.fail_call = fail_call;
        vkf_status status = spm_parse_marian(&recording.host, &model, &model, vocabulary, &tokenizer);
        if (status == VKF_OK)
            status = vkf__tokenizer_encode(&tokenizer, ">>deu<< ab", 10, NULL, 0, &(vkf_encode_options){0}, &encoding);
        if (status == VKF_OK)
            status = vkf__tokenizer_decode(&tokenizer, encoding.ids, encoding.count, false, &bytes, text);
        if (encoding.offsets)
            encoding.allocator.release(encoding.allocator.user, encoding.offsets);
        vkf__tokenizer_free(&tokenizer);
        assert_int_equal(recording.live, 0);
        if (recording.calls < fail_call)
            break;
        assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        failures++;
    }
    assert_true(failures > 40);
}

static void write_files(scratch_directory *scratch)
{
    spm_writer model;
    put_pieces(&model);
    scratch_write(scratch, "source.spm", model.bytes, model.count);
    scratch_write(scratch, "target.spm", model.bytes, model.count);
    scratch_write(scratch, "vocab.json", vocabulary, strlen(vocabulary));
}

static void test_load_a_directory(void **state)
{
    scratch_directory *scratch = *state;
    vkf_tokenizer *tokenizer = NULL;
    vkf_encoding encoding = {0};
    vkf_tokenizer_info info;
    write_files(scratch);
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = scratch->path}, &tokenizer), VKF_OK);
    assert_int_equal(vkf_tokenizer_encode(tokenizer, &(vkf_text){"ab", 2}, NULL, NULL, &encoding), VKF_OK);
    assert_int_equal(encoding.count, 3);
    vkf_encoding_free(&encoding);
    assert_int_equal(vkf_tokenizer_get_vocab_size(tokenizer), 16);
    assert_int_equal(vkf_tokenizer_token_to_id(tokenizer, ">>deu<<"), 9);
    vkf_tokenizer_get_info(tokenizer, &info);
    assert_true(info.pads && info.pad_id == 13 && info.max_length == 0);
    vkf_tokenizer_destroy(&tokenizer);
}

static void test_tokenizer_json_goes_before(void **state)
{
    static const char json[] = "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0}}}";
    scratch_directory *scratch = *state;
    vkf_tokenizer *tokenizer = NULL;
    write_files(scratch);
    scratch_write(scratch, "tokenizer.json", json, strlen(json));
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = scratch->path}, &tokenizer), VKF_OK);
    assert_int_equal(vkf_tokenizer_get_vocab_size(tokenizer), 1);
    vkf_tokenizer_destroy(&tokenizer);
}

static void test_directories_that_are_refused(void **state)
{
    static const char separate[] = "{\"separate_vocabs\": true}";
    scratch_directory *scratch = *state;
    vkf_tokenizer *tokenizer = NULL;
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = scratch->path}, &tokenizer), VKF_ERROR_FILE);
    write_files(scratch);
    scratch_write(scratch, "tokenizer_config.json", separate, strlen(separate));
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = scratch->path}, &tokenizer),
                     VKF_ERROR_UNSUPPORTED);
    scratch_write(scratch, "tokenizer_config.json", "{}", 2);
    assert_int_equal(remove(scratch_path(scratch, "target.spm")), 0);
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = scratch->path}, &tokenizer), VKF_ERROR_FILE);
    assert_null(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode_as_sentencepiece),
        cmocka_unit_test(test_encode_finds_languages_and_special_tokens),
        cmocka_unit_test(test_encode_takes_the_longest_rule),
        cmocka_unit_test(test_encode_with_other_blanks),
        cmocka_unit_test(test_bytes_stand_for_unknown_characters),
        cmocka_unit_test(test_decode_with_the_target_model),
        cmocka_unit_test(test_models_that_are_refused),
        cmocka_unit_test(test_vocabularies_that_are_refused),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test_setup_teardown(test_load_a_directory, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_tokenizer_json_goes_before, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_directories_that_are_refused, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
