// Patterns of parameters' names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/name_match.h"

static void test_name_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"a", "a", true},       {"a", "ab", false},       {"ab", "a", false},         {"*", "", true},
        {"?", "", false},       {"a*", "a", true},        {"*b", "aab", true},        {"a*b*c", "a1b2b3c", true},
        {"a*b", "a1bc", false}, {"*.?.w", "h.1.w", true}, {"*.?.w", "h.12.w", false}, {"", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (vkf__name_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
