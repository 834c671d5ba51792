// The known answers that the authors of Philox4x32-10 publish with their code (Random123, kat_vectors).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/philox.h"

typedef struct known_answer {
    uint32_t counter[4], key[2], words[4];
} known_answer;

static void test_philox_known_answers(void **state)
{
    (void)state;
    static const known_answer answers[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        uint32_t words[4];
        vkf__philox(answers[i].counter, answers[i].key, words);
        assert_memory_equal(words, answers[i].words, sizeof words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_philox_known_answers)};
    return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
