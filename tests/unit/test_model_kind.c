// What the facts of model kinds have to do with each other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family/model_kind.h"

static const vkf__kind_facts *facts_of(int kind)
{
    const vkf_model_config config = {.kind = (vkf_model_kind)kind};
    return vkf__facts_of(&config);
}

static void test_facts_agree_with_each_other(void **state)
{
    (void)state;
    for (int kind = 0; kind < VKF_MODEL_KIND_COUNT; kind++) {
        const vkf__kind_facts *f = facts_of(kind);
        assert_true(f->encodes || f->decodes);
        assert_int_equal(f->crosses, f->encodes && f->decodes);
        assert_true(!f->source_ids || f->encodes);
        assert_true(!f->source_lengths || f->source_ids);
        assert_int_equal(f->prompts, f->decodes && !f->encodes);
        assert_int_equal(f->pools, f->encodes && !f->decodes);
        assert_true(!f->generates || f->decodes);
        assert_int_equal(f->start_token, f->generates && f->encodes);
        assert_true(!f->own_decoder || f->crosses);
    }
}

// A kind whose row is missing has no fact at all, and two kinds with the same facts are one.
static void test_facts_tell_kinds_apart(void **state)
{
    (void)state;
    for (int a = 0; a < VKF_MODEL_KIND_COUNT; a++)
        for (int b = 0; b < a; b++)
            assert_memory_not_equal(facts_of(a), facts_of(b), sizeof(vkf__kind_facts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_agree_with_each_other),
        cmocka_unit_test(test_facts_tell_kinds_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
