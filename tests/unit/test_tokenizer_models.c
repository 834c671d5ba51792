// What the models make of words: ids and offsets, each row worked out by hand.
#include "tokenizer_fixture.h"

#define SPLIT ", \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}"
#define WORD_PIECE                                                                                       \
    "\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\","          \
    "\"max_input_chars_per_word\": 8, \"vocab\": {\"[UNK]\": 0, \"un\": 1, \"##aff\": 2, \"##able\": 3," \
    "\"##a\": 4, \"unaff\": 5, \"\xc3\xa9\": 6, \"##\xc3\xa9\": 7}"

static void test_word_piece_takes_longest_parts(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, TOKENIZER(WORD_PIECE, SPLIT)), VKF_OK);
    fixture_assert(&fixture, "unaffable", "0[0,9)"); // nine characters: too many
    fixture_assert(&fixture, "unable", "1[0,2) 3[2,6)");
    fixture_assert(&fixture, "unaffa", "5[0,5) 4[5,6)");
    fixture_assert(&fixture, "unx un", "0[0,3) 1[4,6)"); // a word is unknown as a whole
    fixture_assert(&fixture, "\xc3\xa9\xc3\xa9", "6[0,2) 7[2,4)");
    fixture_assert(&fixture, "", "");
    fixture_free(&fixture);
}

#define BPE_VOCAB                                                                                                \
    "\"vocab\": {\"<unk>\": 0, \"a\": 1, \"b\": 2, \"c\": 3, \"ab\": 4, \"bc\": 5, \"abc\": 6, \"<0xC3>\": 7,"   \
    "\"<0xA9>\": 8, \"aa\": 9, \"x\": 10, \"abcx\": 11}, \"merges\": [[\"b\", \"c\"], \"a b\", [\"a\", \"bc\"]," \
    "[\"a\", \"a\"]]"

static void test_bpe_merges_lowest_rank_first(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(
        fixture_parse(&fixture, TOKENIZER("\"type\": \"BPE\", \"unk_token\": \"<unk>\", " BPE_VOCAB, SPLIT)), VKF_OK);
    fixture_assert(&fixture, "abc", "6[0,3)");          // b c, then a bc; never a b
    fixture_assert(&fixture, "ab", "4[0,2)");           //
    fixture_assert(&fixture, "aaa", "9[0,2) 1[2,3)");   // the leftmost of equal ranks
    fixture_assert(&fixture, "abcx", "6[0,3) 10[3,4)"); // a token that no merge gives is not taken
    fixture_assert(&fixture, "a\xc3\xa9\xc3\xa9z", "1[0,1) 0[1,3) 0[3,5) 0[5,6)");
    fixture_free(&fixture);
}

static void test_bpe_options(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(
        fixture_parse(&fixture, TOKENIZER("\"type\": \"BPE\", \"unk_token\": \"<unk>\", \"fuse_unk\": true,"
                                          "\"ignore_merges\": true, " BPE_VOCAB,
                                          SPLIT)),
        VKF_OK);
    fixture_assert(&fixture, "abcx", "11[0,4)"); // a word that is a token
    fixture_assert(&fixture, "a\xc3\xa9\xc3\xa9z", "1[0,1) 0[1,6)");
    fixture_free(&fixture);
    assert_int_equal(
        fixture_parse(&fixture, TOKENIZER("\"type\": \"BPE\", \"byte_fallback\": true, " BPE_VOCAB, SPLIT)), VKF_OK);
    fixture_assert(&fixture, "\xc3\xa9", "7[0,2) 8[0,2)"); // bytes have the character's offsets
    fixture_assert(&fixture, "az", "1[0,1)");              // no token, no fallback, no unknown one: left out
    fixture_free(&fixture);
}

static void test_bpe_affixes(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(
        fixture_parse(&fixture, TOKENIZER("\"type\": \"BPE\", \"end_of_word_suffix\": \"</w>\", \"vocab\": {\"a\": 0,"
                                          "\"b</w>\": 1, \"ab</w>\": 2, \"a</w>\": 3}, \"merges\": [\"a b</w>\"]",
                                          SPLIT)),
        VKF_OK);
    fixture_assert(&fixture, "ab a", "2[0,2) 3[3,4)");
    fixture_free(&fixture);
    assert_int_equal(
        fixture_parse(&fixture,
                      TOKENIZER("\"type\": \"BPE\", \"continuing_subword_prefix\": \"##\", \"vocab\": {\"a\": 0,"
                                "\"##b\": 1, \"ab\": 2}, \"merges\": [\"a ##b\"]",
                                SPLIT)),
        VKF_OK);
    fixture_assert(&fixture, "ab", "2[0,2)");
    fixture_free(&fixture);
}

// A word of a quarter of a million characters takes n log n steps, not their square.
static void test_bpe_long_word(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 18 };
    tokenizer_fixture fixture;
    vkf_encode_options options = {0};
    vkf_encoding encoding = {0};
    char *text = malloc(LENGTH);
    assert_non_null(text);
    memset(text, 'a', LENGTH);
    assert_int_equal(fixture_parse(&fixture, TOKENIZER("\"type\": \"BPE\", " BPE_VOCAB, "")), VKF_OK);
    assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, text, LENGTH, NULL, 0, &options, &encoding), VKF_OK);
    assert_int_equal(encoding.count, LENGTH / 2);
    assert_int_equal(encoding.offsets[LENGTH / 2 - 1].end, LENGTH);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    free(text);
    fixture_free(&fixture);
}

#define UNIGRAM_VOCAB                                                                                   \
    "\"vocab\": [[\"<unk>\", 0], [\"a\", -1], [\"b\", -1], [\"ab\", -1.5], [\"abc\", -9], [\"c\", -1]," \
    "[\"<0xC3>\", -5], [\"<0xA9>\", -5]]"

static void test_unigram_takes_best_sum(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, TOKENIZER("\"type\": \"Unigram\", \"unk_id\": 0, " UNIGRAM_VOCAB, "")),
                     VKF_OK);
    fixture_assert(&fixture, "abc", "3[0,2) 5[2,3)"); // -2.5, where one token has -9
    fixture_assert(&fixture, "ba", "2[0,1) 1[1,2)");
    fixture_assert(&fixture, "a\xc3\xa9yb", "1[0,1) 0[1,4) 2[4,5)"); // unknown characters are one token
    fixture_free(&fixture);
    assert_int_equal(
        fixture_parse(&fixture,
                      TOKENIZER("\"type\": \"Unigram\", \"unk_id\": 0, \"byte_fallback\": true, " UNIGRAM_VOCAB, "")),
        VKF_OK);
    fixture_assert(&fixture, "a\xc3\xa9", "1[0,1) 6[1,3) 7[1,3)");
    fixture_assert(&fixture, "\xc3\xa9\xc3\xa9", "6[0,4) 7[0,4) 6[0,4) 7[0,4)"); // offsets of all that is unknown
    fixture_assert(&fixture, "ay", "1[0,1) 0[1,2)");                             // not every byte has a token
    fixture_free(&fixture);
}

static void test_word_level(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, TOKENIZER("\"type\": \"WordLevel\", \"unk_token\": \"?\","
                                                       "\"vocab\": {\"?\": 3, \"one\": 70000, \"two\": 1}",
                                                       SPLIT)),
                     VKF_OK);
    fixture_assert(&fixture, "two one zwei", "1[0,3) 70000[4,7) 3[8,12)");
    assert_int_equal(vkf__tokenizer_vocab_size(&fixture.tokenizer), 70001);
    assert_int_equal(vkf__tokenizer_token_to_id(&fixture.tokenizer, "one"), 70000);
    assert_int_equal(vkf__tokenizer_token_to_id(&fixture.tokenizer, "on"), -1);
    assert_string_equal(vkf__tokenizer_id_to_token(&fixture.tokenizer, 70000), "one");
    assert_null(vkf__tokenizer_id_to_token(&fixture.tokenizer, 2));
    assert_null(vkf__tokenizer_id_to_token(&fixture.tokenizer, -1));
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_word_piece_takes_longest_parts),
        cmocka_unit_test(test_bpe_merges_lowest_rank_first),
        cmocka_unit_test(test_bpe_options),
        cmocka_unit_test(test_bpe_affixes),
        cmocka_unit_test(test_bpe_long_word),
        cmocka_unit_test(test_unigram_takes_best_sum),
        cmocka_unit_test(test_word_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
