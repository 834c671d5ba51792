// Patterns of tensors' names, by the system's own functions and, where it has none, by ours.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "system/name_pattern.h"

static const struct {
    const char *pattern, *name;
    bool matches;
} cases[] = {
    {"*", "", true},
    {"*", "encoder.layers.0", true},
    {"encoder.*", "encoder.layers.0", true},
    {"encoder.*", "decoder.layers.0", false},
    {"*.weight", "a.weight.bias", false},
    {"*.weight", "a.weight.b.weight", true},
    {"*a*ab", "caaab", true},
    {"*a*ab", "caaaba", false},
    {"layer.?.bias", "layer.3.bias", true},
    {"layer.?.bias", "layer.13.bias", false},
    {"layer.[0-3]", "layer.2", true},
    {"layer.[0-3]", "layer.4", false},
    {"layer.[!0-3]", "layer.4", true},
    {"layer.[!0-3]", "layer.0", false},
    {"layer.[1a-]", "layer.-", true},
    {"x[]]", "x]", true},
    {"x[", "x[", true},
    {"x\\*", "x*", true},
    {"x\\*", "xy", false},
    {"abc", "abcd", false},
    {"abcd", "abc", false},
};

static void test_name_matches_as_in_a_shell(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (vkf_name_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("'%s' and '%s' should give %d", cases[i].pattern, cases[i].name, cases[i].matches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_matches_as_in_a_shell),
    };
    return cmocka_run_group_tests_name("name_pattern", tests, NULL, NULL);
}
