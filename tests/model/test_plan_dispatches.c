// What a session is planned to dispatch is what it records, barriers included.
#include "kernel/work.h"
#include "model/session/session.h"
#include "model/session/session_classes.h"
#include "model/session/session_stages.h"
#include "support/pretrained.h"

#include <string.h>

typedef struct planned {
    const vkf_session *session;
    size_t stage;
    uint32_t node;
    uint32_t barriers, planned_barriers;
} planned;

static void compare(void *user, const vkf_planned_dispatch *dispatch)
{
    planned *p = user;
    const vkf__stage *stage = &p->session->stages[p->stage];
    if (p->node == stage->work->plan.node_count) {
        stage = &p->session->stages[++p->stage];
        p->node = 0;
    }
    assert_true(p->stage < p->session->stage_count);
    const vkf__node *node = &stage->work->built.nodes[p->node];
    assert_string_equal(dispatch->part, stage->name);
    assert_string_equal(dispatch->run, vkf__stage_group_name(stage->group));
    assert_string_equal(dispatch->label, node->label);
    assert_string_equal(dispatch->kernel, node->kernel->name);
    assert_string_equal(dispatch->config, node->config->name);
    assert_memory_equal(dispatch->workgroups, vkf__work_grid(stage->work, p->node), sizeof dispatch->workgroups);
    p->barriers += node->barrier || p->node == 0;
    p->planned_barriers += dispatch->after_barrier;
    p->node++;
}

// The recordings for the largest runs; those of steps choose greedily.
static void use_largest(vkf_test_gpu *gpu, vkf_session *session)
{
    for (vkf__stage_group group = VKF_STAGES_ENCODE; group < VKF_STAGES_COUNT; group++) {
        const vkf__session_sizes sizes = vkf__session_max_sizes(session, group);
        uint32_t class = 0;
        if (session->group_begin[group] < session->group_begin[group + 1] &&
            vkf__session_use_class(session, group, &sizes, 0, &class) != VKF_OK)
            fail_msg("%s", gpu->last_error);
    }
}

static void check_family(vkf_test_gpu *gpu, const char *family, const vkf_session_desc *desc)
{
    const vkf_model_desc model = {.directory = vkf_test_pretrained(family)};
    vkf_session *session = vkf_test_load_session(gpu, &model, desc);
    use_largest(gpu, session);
    planned p = {.session = session};
    assert_int_equal(vkf_model_plan_dispatches(gpu->context, &model, desc, compare, &p), VKF_OK);
    assert_int_equal(p.stage + 1, session->stage_count);
    assert_int_equal(p.node, session->stages[p.stage].work->plan.node_count);
    assert_int_equal(p.planned_barriers, p.barriers);
    vkf_session_destroy(&session);
}

static void test_plan_dispatches_is_what_a_session_records(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_family(gpu, "llama", &(vkf_session_desc){.max_batch = 2, .max_target_len = 24, .max_prompt_len = 8});
    check_family(gpu, "bert", &(vkf_session_desc){.max_batch = 1, .max_source_len = 12});
    check_family(gpu, "marian", &(vkf_session_desc){.max_batch = 1, .max_source_len = 8, .max_target_len = 8});
}

static void test_plan_dispatches_where_there_are_classes(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__traits *traits = &gpu->context->device.plan.caps.traits;
    traits->rows_by_class = true;
    check_family(gpu, "llama", &(vkf_session_desc){.max_batch = 2, .max_target_len = 24, .max_beams = 2});
    traits->rows_by_class = !traits->processor;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_dispatches_is_what_a_session_records),
        cmocka_unit_test(test_plan_dispatches_where_there_are_classes),
    };
    return cmocka_run_group_tests(tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
