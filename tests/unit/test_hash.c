// Expected values are those of the FNV authors' own test list (64 bits, 1a).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

static void test_hash_of_known_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } rows[] = {
        {"", UINT64_C(0xcbf29ce484222325)},
        {"a", UINT64_C(0xaf63dc4c8601ec8c)},
        {"b", UINT64_C(0xaf63df4c8601f1a5)},
        {"foobar", UINT64_C(0x85944171f73967e8)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(vkf__hash(VKF_HASH_SEED, rows[i].text, strlen(rows[i].text)) == rows[i].hash);
}

static void test_hash_in_parts_is_hash_of_concatenation(void **state)
{
    (void)state;
    uint64_t head = vkf__hash(VKF_HASH_SEED, "foo", 3);
    assert_true(vkf__hash(head, "bar", 3) == vkf__hash(VKF_HASH_SEED, "foobar", 6));
    assert_true(vkf__hash(head, NULL, 0) == head);
}

static void test_hash_sees_every_bit_of_every_byte(void **state)
{
    (void)state;
    unsigned char blob[16] = {0};
    uint64_t plain = vkf__hash(VKF_HASH_SEED, blob, sizeof blob);
    for (size_t bit = 0; bit < 8 * sizeof blob; bit++) {
        blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_true(vkf__hash(VKF_HASH_SEED, blob, sizeof blob) != plain);
        blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(vkf__hash(VKF_HASH_SEED, blob, sizeof blob - 1) != plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_of_known_strings),
        cmocka_unit_test(test_hash_in_parts_is_hash_of_concatenation),
        cmocka_unit_test(test_hash_sees_every_bit_of_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
