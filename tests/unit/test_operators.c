// Every operator is told once: its row, and its edge shapes in the self-test, or a reason why there are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "op/operators.h"
#include "prove/self_test.h"

typedef struct exception {
    vkf__op op;
    const char *why;
} exception;

#define MEASURES "it measures the device"
#define TRAINS "training alone asks for it"

static const exception not_counted[] = {
    {VKF_OP_ROOF_COPY, MEASURES},
    {VKF_OP_ROOF_READ, MEASURES},
    {VKF_OP_ROOF_FMA, MEASURES},
};

static const exception not_shown[] = {
    {VKF_OP_ARGMAX, "tokens"},
    {VKF_OP_SAMPLE, "tokens"},
    {VKF_OP_TOP, "tokens, with their scores beside them"},
    {VKF_OP_REORDER, "rows of any type, moved as words"},
    {VKF_OP_INDEX, "elements among others, which an index tells"},
    {VKF_OP_PACK, "a weight in another order"},
    {VKF_OP_QUANTIZE_ROWS, "blocks of bytes"},
    {VKF_OP_QUANTIZE_LINEAR, "bytes, mostly"},
    {VKF_OP_ATTENTION_GRAD_PACK, "operands side by side, as kernels read them"},
    {VKF_OP_ROOF_COPY, MEASURES},
    {VKF_OP_ROOF_READ, MEASURES},
    {VKF_OP_ROOF_FMA, MEASURES},
};

static const exception not_ahead[] = {
    {VKF_OP_ATTENTION, "the widths of heads are constants of its pipelines, which a layer says"},
    {VKF_OP_ATTENTION_TRAIN, "the same"},
    {VKF_OP_ATTENTION_GRAD, "the same"},
    {VKF_OP_ATTENTION_GRAD_PAIR, "the same"},
    {VKF_OP_ATTENTION_GRAD_PACK, "training alone asks for it"},
    {VKF_OP_ROTARY, "what its rows are made of, a layer says"},
    {VKF_OP_GEMM_INT8, "signs, zeros and scales are constants, which a caller says"},
    {VKF_OP_QUANTIZE_LINEAR, "types are constants, which a caller says"},
    {VKF_OP_GATE, "its activation is a constant, which a layer says"},
    {VKF_OP_ACTIVATION, "its activation is a constant, which a layer says"},
    {VKF_OP_ACTIVATION_GRAD, "its activation is a constant, which a layer says"},
    {VKF_OP_GATE_GRAD, "its activation is a constant, which a layer says"},
    {VKF_OP_DROPOUT, "training alone asks for it"},
    {VKF_OP_EMBED_GRAD, "training alone asks for it"},
    {VKF_OP_SINK_GRAD, TRAINS},
    {VKF_OP_POOL_GRAD, "training alone asks for it"},
    {VKF_OP_ADDITIVE_GRAD, "training alone asks for it"},
    {VKF_OP_SAMPLE, "generation alone asks for it"},
    {VKF_OP_TOP, "it is for beams"},
    {VKF_OP_REORDER, "it is for beams"},
    {VKF_OP_INDEX, "a caller alone asks for it"},
    {VKF_OP_LAYER_NORM_GRAD, TRAINS},
    {VKF_OP_NORM_GRADIENTS, TRAINS},
    {VKF_OP_NORM_STATS, TRAINS},
    {VKF_OP_COLUMN_SUM, TRAINS},
    {VKF_OP_SOFTMAX_GRAD, TRAINS},
    {VKF_OP_CROSS_ENTROPY, TRAINS},
    {VKF_OP_TOTAL, TRAINS},
    {VKF_OP_CLIP, TRAINS},
    {VKF_OP_ADAM, TRAINS},
    {VKF_OP_SGD, TRAINS},
    {VKF_OP_ROOF_COPY, MEASURES},
    {VKF_OP_ROOF_READ, MEASURES},
    {VKF_OP_ROOF_FMA, MEASURES},
};

static const exception without_cases[] = {
    {VKF_OP_GEMM_REDUCE, "it runs behind products cut in depth alone"},
    {VKF_OP_ATTENTION_REDUCE, "it runs behind attention alone"},
    {VKF_OP_ROOF_COPY, MEASURES},
    {VKF_OP_ROOF_READ, MEASURES},
    {VKF_OP_ROOF_FMA, MEASURES},
};

#define EXCEPTED(list, op) is_excepted(list, sizeof(list) / sizeof(list)[0], op)

static bool is_excepted(const exception *list, size_t count, vkf__op op)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].op == op)
            return true;
    return false;
}

static bool is_ahead(const vkf__op_info *info)
{
    for (uint32_t i = 0; i < info->problem_count; i++)
        if (info->problems[i].ahead)
            return true;
    return false;
}

static void test_every_operator_has_a_row(void **state)
{
    (void)state;
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++) {
        const vkf__op_info *info = vkf__operator(op);
        assert_non_null(info);
        if (info->problem_count == 0)
            fail_msg("%s: no typical problem", vkf__op_name(op));
        if ((info->account == NULL) != EXCEPTED(not_counted, op))
            fail_msg("%s: what it does is counted, or the list above says why not", vkf__op_name(op));
        if ((info->output == NULL) != EXCEPTED(not_shown, op))
            fail_msg("%s: its row says where its output lies, or the list above says why not", vkf__op_name(op));
        if (is_ahead(info) == EXCEPTED(not_ahead, op))
            fail_msg("%s: its pipelines are made ahead, or the list above says why not", vkf__op_name(op));
        for (vkf__op other = 0; other < op; other++)
            assert_ptr_not_equal(info, vkf__operator(other));
    }
}

static void test_every_operator_has_cases(void **state)
{
    (void)state;
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++) {
        const vkf__op_info *info = vkf__operator(op);
        const char *why = NULL;
        if (vkf__self_test_covers(op, &why) == EXCEPTED(without_cases, op))
            fail_msg("%s: it has cases, or the list above says why not: %s", vkf__op_name(op), why);
        if ((info->reference == NULL) != EXCEPTED(not_counted, op) || (info->cases && !info->emit))
            fail_msg("%s: what it does a reference does, too, and its cases have an emitter", vkf__op_name(op));
    }
}

// What an operator's row reads is what its kernels take.
static void test_rows_agree_with_the_registry(void **state)
{
    (void)state;
    static const uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    uint32_t params[64] = {0};
    memset(params, 1, sizeof params); // no divisor is 0
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const vkf__op_info *info = vkf__operator(kernel->op);
        vkf__extent extent = {0};
        if (kernel->params_bytes != info->params_bytes || kernel->params_bytes > sizeof params)
            fail_msg("%s: %u bytes of parameters, its operator's row says %u", kernel->name, kernel->params_bytes,
                     info->params_bytes);
        (void)vkf__output_of(&(vkf__dispatched){kernel, spec, params}, &extent);
        if (extent.operand >= kernel->operand_count)
            fail_msg("%s: its output is operand %u of %u", kernel->name, extent.operand, kernel->operand_count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator_has_a_row),
        cmocka_unit_test(test_every_operator_has_cases),
        cmocka_unit_test(test_rows_agree_with_the_registry),
    };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
