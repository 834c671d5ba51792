// The page of a training run: curves over few and many steps, and what the log comes to.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "train/train_curve.h"
#include "train/train_page.h"

#define MAX_LINES 5000
#define PAGE_BYTES (1 << 20)

static char page_text[PAGE_BYTES];
static vkf_train_log_line lines[MAX_LINES];

static void write_page(const vkf_train_page *page)
{
    FILE *stream = tmpfile();
    assert_non_null(stream);
    vkf_train_page_write(stream, page);
    assert_int_equal(ferror(stream), 0);
    rewind(stream);
    const size_t length = fread(page_text, 1, sizeof page_text - 1, stream);
    page_text[length] = '\0';
    fclose(stream);
    assert_in_range(length, 1000, sizeof page_text - 2);
    assert_null(strstr(page_text, "{{")); // no name was left without a value
    assert_null(strstr(page_text, "http"));
    assert_null(strstr(page_text, "<script"));
    const char *end = "</html>\n";
    assert_string_equal(page_text + length - strlen(end), end);
}

static size_t count_of(const char *part)
{
    size_t count = 0;
    for (const char *at = page_text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

// `steps` steps with a loss that falls from 5 to 1, and a look after every `every`.
static size_t make_lines(uint64_t steps, uint64_t every)
{
    size_t count = 0;
    for (uint64_t step = 1; step <= steps; step++) {
        const double loss = 1 + 4 * (1 - (double)(step - 1) / (double)(steps > 1 ? steps - 1 : 1));
        lines[count++] = (vkf_train_log_line){
            .type = VKF_TRAIN_LOG_STEP,
            .step = step,
            .loss = loss,
            .tokens = 1000,
            .grad_norm = 0.5,
            .lr = 1e-3,
            .tokens_per_second = 250,
            .seconds = 4.0 * (double)step,
        };
        if (step % every == 0)
            lines[count++] = (vkf_train_log_line){
                .type = VKF_TRAIN_LOG_EVAL,
                .step = step,
                .loss = loss + 1,
                .accuracy = (double)step / (double)steps,
                .tokens = 77,
                .seconds = 4.0 * (double)step + 1,
            };
        assert_in_range(count, 1, MAX_LINES - 2);
    }
    return count;
}

static void test_train_page_of_few_steps(void **state)
{
    (void)state;
    const vkf_train_fact facts[] = {{"device", "A <GPU>"}, {"seed", "5"}};
    const vkf_train_page page = {
        .model = "a&b", .facts = facts, .fact_count = 2, .lines = lines, .line_count = make_lines(10, 5)};
    write_page(&page);
    assert_int_equal(count_of("Training of a&amp;b"), 2);
    assert_int_equal(count_of("<dt>device</dt><dd>A &lt;GPU&gt;</dd>"), 1);
    assert_int_equal(count_of("<section id="), 5);
    assert_int_equal(count_of("<path class=\"curve"), 5);
    assert_int_equal(count_of("<path class=\"band"), 0); // each step has a column of its own
    assert_int_equal(count_of("<circle"), 10 + 2 + 2 + 10 + 10);
    assert_int_equal(count_of("<title>training, step 1: 5</title>"), 1);
    assert_int_equal(count_of("<title>held-out examples, step 10: 2</title>"), 1);
    assert_int_equal(count_of("<b>1</b> training loss, step 10</li>"), 1);
    assert_int_equal(count_of("<b>2</b> best held-out loss, step 10</li>"), 1);
    assert_int_equal(count_of("<b>1</b> best held-out accuracy, step 10</li>"), 1);
    assert_int_equal(count_of("<b>250</b> tokens per second</li>"), 1);
    assert_int_equal(count_of("<b>10k</b> tokens learned from</li>"), 1);
    assert_int_equal(count_of("<b>0:00:41</b> hours, minutes and seconds</li>"), 1);
    assert_int_equal(count_of("<tr><th scope=\"row\">5</th><td>4.2222</td><td>0.5000</td><td>77</td><td>21</td></tr>"),
                     1);
    assert_int_equal(count_of("class=\"warning\""), 0);
    // From the low end of the steps to the high one; 5 and 1 are the ends of the loss, with a twentieth around them.
    assert_int_equal(count_of("<path class=\"curve c2\" d=\"M0.0 45.5L111.1 146.5"), 1);
    assert_int_equal(count_of("L1000.0 954.5\"/>"), 1);
}

// A long run is drawn in as many columns as a short one, without dots.
static void test_train_page_of_many_steps(void **state)
{
    (void)state;
    const vkf_train_page page = {.model = "m", .lines = lines, .line_count = make_lines(4000, 10)};
    write_page(&page);
    assert_int_equal(count_of("<path class=\"band"), 5 - 2); // the looks have one column each
    assert_int_equal(count_of("<circle"), 0);
    assert_int_equal(count_of("<tr><th scope=\"row\">"), 400);
    assert_in_range(count_of("L"), 4 * 399 + 2 * 399, 12 * 400);
}

static void test_train_page_without_steps_or_looks(void **state)
{
    (void)state;
    vkf_train_page page = {.model = "m"};
    write_page(&page);
    assert_int_equal(count_of("The run has not ended its first step."), 1);
    assert_int_equal(count_of("<section"), 0);
    page.lines = lines;
    page.line_count = make_lines(1, 2);
    write_page(&page);
    assert_int_equal(count_of("has not ended"), 0);
    assert_int_equal(count_of("<section id="), 3);
    assert_int_equal(count_of("held-out"), 0);
    assert_int_equal(count_of("nan"), 0);
    assert_int_equal(count_of("inf"), 0);
    lines[0].loss = lines[0].grad_norm = lines[0].tokens_per_second = lines[0].seconds = NAN;
    write_page(&page);
    assert_int_equal(count_of("<section id="), 1);
    assert_int_equal(count_of("In 1 lines of the log the loss is no finite number"), 1);
}

// Beside a loss of 0 there is room below, where the first tick is one of minus nothing. Which loss is which is said.
static void test_train_page_has_no_minus_nothing(void **state)
{
    (void)state;
    const vkf_train_page page = {.model = "m", .lines = lines, .line_count = make_lines(10, 5)};
    for (size_t i = 0; i < page.line_count; i++)
        lines[i].loss = (double)i / 20;
    write_page(&page);
    assert_int_equal(count_of(">-0<"), 0);
    assert_in_range(count_of(">0<"), 1, 9);
    assert_int_equal(count_of("neither dropout nor smoothing"), 1);
    assert_int_equal(count_of("with the dropout and the label smoothing that the run has"), 1);
}

// A loss that is lost leaves the rest of its curve.
static void test_train_page_leaves_out_what_is_not_finite(void **state)
{
    (void)state;
    const vkf_train_page page = {.model = "m", .lines = lines, .line_count = make_lines(10, 20)};
    for (size_t i = 5; i < 10; i++)
        lines[i].loss = NAN;
    write_page(&page);
    assert_int_equal(count_of("<title>training, step"), 5);
    assert_int_equal(count_of("In 5 lines of the log"), 1);
    assert_int_equal(count_of("\"nan"), 0);
}

static void test_train_curve_merges_points(void **state)
{
    (void)state;
    vkf_train_points points;
    vkf_train_span values = VKF_TRAIN_NO_SPAN;
    vkf_train_points_begin(&points, (vkf_train_span){1, 801});
    for (int i = 1; i <= 801; i++)
        vkf_train_points_add(&points, i, i % 2 ? 3 : 5);
    vkf_train_points_add(&points, 400, INFINITY);
    assert_int_equal(points.count, 801);
    assert_true(points.merged);
    assert_int_equal(points.columns[0].count, 2);
    assert_true(points.columns[0].low == 3 && points.columns[0].high == 5 && points.columns[0].sum == 8);
    assert_int_equal(points.columns[VKF_TRAIN_COLUMNS - 1].count, 3);
    vkf_train_points_widen(&points, &values);
    assert_true(values.low > 3.6 && values.low < 3.7 && values.high == 4); // means, the last of three points
}

static void test_train_tick_steps_are_round(void **state)
{
    (void)state;
    static const struct {
        double low, high, step;
        bool whole;
    } cases[] = {{0, 5, 1, false}, {0, 5.1, 2, false},     {1, 1000, 200, true},
                 {1, 2, 1, true},  {0, 1e-3, 2e-4, false}, {-3e6, 3e6, 2e6, false},
                 {0, 4, 1, false}, {0, 0.9, 0.2, false},   {0, 22.5, 5, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double step = vkf_train_tick_step((vkf_train_span){cases[i].low, cases[i].high}, cases[i].whole);
        assert_true(fabs(step - cases[i].step) < 1e-9 * cases[i].step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_page_of_few_steps),
        cmocka_unit_test(test_train_page_of_many_steps),
        cmocka_unit_test(test_train_page_without_steps_or_looks),
        cmocka_unit_test(test_train_page_has_no_minus_nothing),
        cmocka_unit_test(test_train_page_leaves_out_what_is_not_finite),
        cmocka_unit_test(test_train_curve_merges_points),
        cmocka_unit_test(test_train_tick_steps_are_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
