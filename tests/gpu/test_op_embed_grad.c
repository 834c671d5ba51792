// The backward pass of token embedding against the reference, and the reference against differences.
//
// Bounds. A sum of n values of about 1 is taken 8 at a time: n / 8 + 8 roundings of 2^-24, each of a partial sum that
// stays below 5 sqrt(n). For the 3,000 tokens of one id below, 383 * 6e-8 * 270 is 6e-3 at worst; as roundings do not
// conspire, their root, 3e-4. Compared with double precision.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/embed_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_embed_grad(work, args);
}

typedef struct embed_case {
    uint32_t tokens, dim, vocab;
    int32_t low, high; // of ids, which may lie outside
    bool accumulate;
} embed_case;

static vkf__embed_grad_args args_of(vkf_test_ops *ops, const embed_case *c, const int32_t *ids,
                                    const vkf_test_operand *dout, const vkf_test_operand *dtable)
{
    const uint32_t length = (uint32_t)vkf__id_order_length(c->tokens);
    int32_t *lists = calloc(length, sizeof *lists);
    uint32_t *scratch = calloc(c->vocab, sizeof *scratch);
    assert_non_null(lists);
    assert_non_null(scratch);
    const uint32_t unique = vkf__id_order(ids, c->tokens, c->vocab, scratch, lists);
    const vkf__embed_grad_args args = {.label = "embed",
                                       .dout = SPAN(dout),
                                       .lists = SPAN(vkf_test_ids(ops, lists, SHAPE(length))),
                                       .dtable = SPAN(dtable),
                                       .tokens = c->tokens,
                                       .dim = c->dim,
                                       .unique = unique,
                                       .vocab = c->vocab,
                                       .scale = 1.5f,
                                       .accumulate = c->accumulate};
    free(lists);
    free(scratch);
    return args;
}

static int32_t *random_ids(vkf_test_ops *ops, const embed_case *c)
{
    const vkf_test_operand *numbers = vkf_test_integers(ops, VKF_DTYPE_F32, c->low, c->high, SHAPE(c->tokens));
    int32_t *ids = malloc(c->tokens * sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < c->tokens; i++)
        ids[i] = (int32_t)numbers->values[i];
    return ids;
}

static void check(vkf_test_ops *ops, const embed_case *c)
{
    const float before = c->accumulate ? -0.25f : NAN;
    int32_t *ids = random_ids(ops, c);
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->tokens, c->dim));
    vkf_test_operand *dtable = vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->vocab, c->dim));
    const vkf__embed_grad_args args = args_of(ops, c, ids, dout, dtable);
    float *expected = vkf_test_floats(dtable->count);
    double *sums = malloc(dtable->count * sizeof *sums);
    assert_non_null(sums);
    for (size_t i = 0; i < dtable->count; i++)
        expected[i] = c->accumulate ? before : 0;
    vkf__ref_embed_grad(c->tokens, c->dim, c->vocab, ids, dout->values, args.scale, sums, expected);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "embed", emit, &args), "embed_grad");
    vkf_test_download(ops, dtable);
    assert_close(dtable->values, expected, dtable->count, c->tokens > 1000 ? 3e-4 : 2e-5, 1e-6,
                 vkf_test_label(&ops->gpu, "grad of an embedding, (%u, %u), %u ids%s", c->tokens, c->dim, c->vocab,
                                c->accumulate ? ", added" : ""));
    free(expected);
    free(sums);
    free(ids);
    vkf_test_ops_reset(ops);
}

static void test_dimensions(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {1, 2, 3, 97, 255, 256, 257, 511, 512, 513, 1025};
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check(ops, &(embed_case){23, dims[i], 11, -2, 12, i % 2});
}

// Numbers of tokens about those of an iteration, all of one id.
static void test_tokens_of_one_id(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t tokens[] = {1, 2, 7, 8, 9, 15, 16, 17, 3000};
    for (size_t i = 0; i < COUNT_OF(tokens); i++)
        for (int added = 0; added < 2; added++)
            check(ops, &(embed_case){tokens[i], 37, 3, 1, 1, added});
}

// More ids than one dimension of a grid holds workgroups, most of which do not occur.
static void test_large_vocabularies(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check(ops, &(embed_case){700, 5, 70001, 0, 70000, false});
    check(ops, &(embed_case){700, 5, 70001, 0, 70000, true});
    check(ops, &(embed_case){2000, 64, 300, 0, 299, true});
}

// Sums are taken in an order of their own: every run gives the same bits.
static void test_runs_are_equal(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const embed_case c = {900, 130, 7, 0, 6, false};
    int32_t *ids = random_ids(ops, &c);
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c.tokens, c.dim));
    vkf_test_operand *dtables[2];
    for (int run = 0; run < 2; run++) {
        dtables[run] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(c.vocab, c.dim));
        const vkf__embed_grad_args args = args_of(ops, &c, ids, dout, dtables[run]);
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "embed", emit, &args), "embed_grad");
        vkf_test_download(ops, dtables[run]);
    }
    assert_memory_equal(dtables[0]->values, dtables[1]->values, dtables[0]->count * sizeof(float));
    free(ids);
}

// Tokens that are masked out, by ids outside, may be no numbers.
static void test_masked_tokens_do_not_count(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { TOKENS = 12, DIM = 70, VOCAB = 2 };
    static const int32_t values[TOKENS] = {0, 1, -1, 0, -1, 1, 1, 1, -1, -1, 0, 0};
    const embed_case c = {TOKENS, DIM, VOCAB, 0, 0, false};
    vkf_test_operand *dout = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(TOKENS, DIM));
    vkf_test_operand *dtable = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(VOCAB, DIM));
    for (size_t i = 0; i < dout->count; i++)
        dout->values[i] = values[i / DIM] < 0 ? NAN : 1;
    vkf_test_upload(ops, dout);
    const vkf__embed_grad_args args = args_of(ops, &c, values, dout, dtable);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "embed", emit, &args), "embed_grad");
    vkf_test_download(ops, dtable);
    for (size_t i = 0; i < dtable->count; i++)
        assert_true(dtable->values[i] == 4 * 1.5f);
}

// Without tokens a table that is not added to becomes zeros.
static void test_no_tokens(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int added = 0; added < 2; added++) {
        vkf_test_operand *dtable = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 7));
        vkf_test_operand *dout = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(1, 7));
        static const int32_t lists[] = {0};
        const vkf__embed_grad_args args = {.label = "embed",
                                           .dout = SPAN(dout),
                                           .lists = SPAN(vkf_test_ids(ops, lists, SHAPE(1))),
                                           .dtable = SPAN(dtable),
                                           .dim = 7,
                                           .vocab = 3,
                                           .scale = 1,
                                           .accumulate = added};
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "embed", emit, &args), "embed_grad");
        if (added)
            vkf_test_assert_untouched(ops, dtable);
        vkf_test_download(ops, dtable);
        for (size_t i = 0; i < dtable->count && !added; i++)
            assert_true(dtable->values[i] == 0);
        vkf_test_ops_reset(ops);
    }
}

static void test_too_many_tokens_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *dtable = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 7));
    const vkf__embed_grad_args args = {.label = "embed",
                                       .dout = SPAN(dtable),
                                       .lists = SPAN(dtable),
                                       .dtable = SPAN(dtable),
                                       .tokens = 524273,
                                       .dim = 7,
                                       .unique = 1,
                                       .vocab = 3};
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "embed", emit, &args), VKF_ERROR_TOO_LARGE, "tokens");
    vkf_test_assert_untouched(ops, dtable);
}

// Central differences of vkf__ref_embed(), weighed by dout. An embedding is linear in its table, so that any step will
// do; 1 is exact.
static void test_reference_has_the_slope_of_the_embedding(void **state)
{
    (void)state;
    enum { TOKENS = 6, DIM = 3, VOCAB = 4 };
    static const int32_t ids[TOKENS] = {3, 0, 3, -1, 2, 3};
    float table[VOCAB * DIM], dout[TOKENS * DIM], slopes[VOCAB * DIM], dtable[VOCAB * DIM] = {0};
    double sums[VOCAB * DIM];
    for (size_t i = 0; i < COUNT_OF(dout); i++)
        dout[i] = 0.2f * (float)i - 1;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        table[i] = (float)i;
    for (size_t j = 0; j < COUNT_OF(table); j++) {
        float out[2][TOKENS * DIM];
        for (int side = 0; side < 2; side++) {
            table[j] = (float)j + (side ? 0.5f : -0.5f);
            vkf__ref_embed(&(vkf__ref_embed_desc){1, TOKENS, DIM, VOCAB, ids, table, NULL, 0, 2, out[side]});
        }
        table[j] = (float)j;
        slopes[j] = 0;
        for (size_t i = 0; i < COUNT_OF(dout); i++)
            slopes[j] += dout[i] * (out[1][i] - out[0][i]);
    }
    vkf__ref_embed_grad(TOKENS, DIM, VOCAB, ids, dout, 2, sums, dtable);
    assert_close(dtable, slopes, COUNT_OF(dtable), 1e-5, 1e-5, "the embedding's reference");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_dimensions),
        VKF_OPS_TEST(test_tokens_of_one_id),
        VKF_OPS_TEST(test_large_vocabularies),
        VKF_OPS_TEST(test_runs_are_equal),
        VKF_OPS_TEST(test_masked_tokens_do_not_count),
        VKF_OPS_TEST(test_no_tokens),
        VKF_OPS_TEST(test_too_many_tokens_are_refused),
        VKF_OPS_TEST(test_reference_has_the_slope_of_the_embedding),
    };
    return cmocka_run_group_tests_name("op_embed_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
