// Fills the template of the page with curves and with what they come to.
#include "train/train_page.h"

#include <math.h>

#include "embedded_templates.h"
#include "output/template.h"
#include "train/train_curve.h"

#define PLOT_HEIGHT 260.0
#define MAX_CURVES 2
#define MAX_DOTS 200 // of a curve; more would cover it
#define DAY_S 86400.0

typedef struct curve {
    const char *name, *class; // class: of profile.css, a colour
    vkf_train_log_type type;
    size_t offset; // of the member in vkf_train_log_line
} curve;

typedef struct plot {
    const char *id, *title, *about;
    const char *about_looks; // where there are held-out examples, too; NULL: nothing
    bool from_zero;
    curve curves[MAX_CURVES]; // name NULL: no more
} plot;

static const plot plots[] = {
    {
        "loss",
        "Loss",
        "Cross entropy in nats, as the mean over the tokens, or classes, that are learned. The training loss is that "
        "of "
        "each step’s examples before the step, with the dropout and the label smoothing that the run has. The pale "
        "band "
        "is what single steps reach up and down to.",
        "The loss of held-out examples has neither dropout nor smoothing, so that it can lie far below the other.",
        false,
        {{"training", "c2", VKF_TRAIN_LOG_STEP, offsetof(vkf_train_log_line, loss)},
         {"held-out examples", "c1", VKF_TRAIN_LOG_EVAL, offsetof(vkf_train_log_line, loss)}},
    },
    {
        "accuracy",
        "Held-out accuracy",
        "The share of the held-out examples’ tokens, or classes, that the model finds.",
        NULL,
        false,
        {{"held-out examples", "c1", VKF_TRAIN_LOG_EVAL, offsetof(vkf_train_log_line, accuracy)}},
    },
    {
        "rate",
        "Learning rate",
        "What the schedule makes of it, step by step.",
        NULL,
        true,
        {{"learning rate", "c3", VKF_TRAIN_LOG_STEP, offsetof(vkf_train_log_line, lr)}},
    },
    {
        "norm",
        "Norm of the gradient",
        "Of all parameters together, before it is clipped.",
        NULL,
        true,
        {{"norm", "c4", VKF_TRAIN_LOG_STEP, offsetof(vkf_train_log_line, grad_norm)}},
    },
};

typedef struct page {
    FILE *out;
    const vkf_train_page *of;
    vkf_train_span steps; // of all lines
} page;

// A plot that is being written.
typedef struct drawing {
    const page *page;
    const plot *plot;
    const curve *curve; // that is being written
    vkf_train_span values;
    const vkf_train_points *points; // of the curve
} drawing;

static double value_of(const curve *c, const vkf_train_log_line *line)
{
    return line->type == c->type ? *(const double *)((const char *)line + c->offset) : NAN;
}

// Writes a count in few letters: 20000 is "20k".
static void count_text(double count, char out_text[32])
{
    const double unit = count >= 1e9 ? 1e9 : count >= 1e6 ? 1e6 : count >= 1e4 ? 1e3 : 1;
    snprintf(out_text, 32, "%.4g%s", count / unit, unit == 1e9 ? "G" : unit == 1e6 ? "M" : unit == 1e3 ? "k" : "");
}

static void collect(const page *p, const curve *c, vkf_train_points *out_points)
{
    vkf_train_points_begin(out_points, p->steps);
    for (size_t i = 0; i < p->of->line_count; i++)
        vkf_train_points_add(out_points, (double)p->of->lines[i].step, value_of(c, &p->of->lines[i]));
}

// ---- plots

static void write_line(const void *user)
{
    const drawing *d = user;
    vkf_train_points_write_line(d->page->out, d->points, d->values);
}

static void write_band(const void *user)
{
    const drawing *d = user;
    vkf_train_points_write_band(d->page->out, d->points, d->values);
}

static void each_curve(const vkf_template_body *body, const void *user)
{
    drawing d = *(const drawing *)user;
    for (d.curve = d.plot->curves; d.curve < d.plot->curves + MAX_CURVES && d.curve->name; d.curve++) {
        vkf_train_points points;
        collect(d.page, d.curve, &points);
        d.points = &points;
        const vkf_slot slots[] = {
            {"class", .text = d.curve->class}, {"name", .text = d.curve->name}, {"has_band", .number = points.merged},
            {"line", .part = write_line},      {"band", .part = write_band},    {0},
        };
        if (points.count > 0)
            vkf_template_body_write(body, slots, &d);
    }
}

// Points of curves that have few, which tell their values when pointed at.
static void each_dot(const vkf_template_body *body, const void *user)
{
    const drawing *d = user;
    for (const curve *c = d->plot->curves; c < d->plot->curves + MAX_CURVES && c->name; c++) {
        vkf_train_points points;
        collect(d->page, c, &points);
        for (size_t i = 0; points.count <= MAX_DOTS && i < d->page->of->line_count; i++) {
            const vkf_train_log_line *line = &d->page->of->lines[i];
            const double value = value_of(c, line);
            const vkf_slot slots[] = {
                {"class", .text = c->class},
                {"name", .text = c->name},
                {"step", .number = (double)line->step},
                {"value", .number = value},
                {"x", .number = 100 * vkf_train_span_place(d->page->steps, (double)line->step)},
                {"y", .number = 100 - 100 * vkf_train_span_place(d->values, value)},
                {0},
            };
            if (isfinite(value))
                vkf_template_body_write(body, slots, NULL);
        }
    }
}

static void each_row(const vkf_template_body *body, const void *user)
{
    const drawing *d = user;
    const double step = vkf_train_tick_step(d->values, false);
    for (double i = ceil(d->values.low / step); i * step <= d->values.high; i++) {
        const double tick = i * step + 0.0; // ceil() gives -0
        const double y = 100 - 100 * vkf_train_span_place(d->values, tick);
        const vkf_slot slots[] = {{"y", .number = y}, {"label", .number = tick}, {0}};
        vkf_template_body_write(body, slots, NULL);
    }
}

static void each_column(const vkf_template_body *body, const void *user)
{
    const drawing *d = user;
    const vkf_train_span steps = d->page->steps;
    const double step = vkf_train_tick_step(steps, true);
    for (double i = ceil(steps.low / step); i * step <= steps.high; i++) {
        const double x = 100 * vkf_train_span_place(steps, i * step);
        char label[32];
        count_text(i * step + 0.0, label); // ceil() gives -0
        const vkf_slot slots[] = {
            {"x", .number = x},
            {"label", .text = label},
            {"anchor", .text = x < 4    ? "start"
                               : x > 96 ? "end"
                                        : "middle"},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

// The values that a plot shows, with room around them; false where there are none.
static bool span_of(const page *p, const plot *of, vkf_train_span *out_values)
{
    vkf_train_span values = VKF_TRAIN_NO_SPAN;
    for (const curve *c = of->curves; c < of->curves + MAX_CURVES && c->name; c++) {
        vkf_train_points points;
        collect(p, c, &points);
        vkf_train_points_widen(&points, &values);
    }
    if (values.low > values.high)
        return false;
    if (of->from_zero && values.low > 0)
        values.low = 0;
    *out_values = vkf_train_span_with_room(values, of->from_zero);
    return true;
}

static void each_plot(const vkf_template_body *body, const void *user)
{
    const page *p = user;
    size_t looks = 0;
    for (size_t i = 0; i < p->of->line_count; i++)
        looks += p->of->lines[i].type == VKF_TRAIN_LOG_EVAL;
    for (const plot *of = plots; of < plots + sizeof plots / sizeof plots[0]; of++) {
        drawing d = {.page = p, .plot = of};
        const vkf_slot slots[] = {
            {"id", .text = of->id},
            {"title", .text = of->title},
            {"about", .text = of->about},
            {"about_looks", .text = looks > 0 ? of->about_looks : NULL},
            {"height", .number = PLOT_HEIGHT},
            {"labels_y", .number = PLOT_HEIGHT + 18},
            {"unit_y", .number = PLOT_HEIGHT + 34},
            {"size", .number = VKF_TRAIN_CURVE_SIZE},
            {"curves", .each = each_curve},
            {"dots", .each = each_dot},
            {"rows", .each = each_row},
            {"columns", .each = each_column},
            {0},
        };
        if (span_of(p, of, &d.values))
            vkf_template_body_write(body, slots, &d);
    }
}

// ---- the head, and the table of looks at the held-out examples

// What all lines come to. Numbers are NaN where nothing is known of them.
typedef struct totals {
    const vkf_train_log_line *last_step, *best_loss, *best_accuracy; // NULL: there is none
    double tokens, tokens_per_second, seconds;
    size_t unknown_losses, evals;
} totals;

static totals sum_up(const vkf_train_page *of)
{
    totals t = {0};
    double rates = 0, rate_count = 0;
    for (const vkf_train_log_line *line = of->lines; line < of->lines + of->line_count; line++) {
        t.seconds = isfinite(line->seconds) ? fmax(t.seconds, line->seconds) : t.seconds;
        t.unknown_losses += isfinite(line->loss) ? 0 : 1;
        if (line->type == VKF_TRAIN_LOG_EVAL) {
            t.evals++;
            if (isfinite(line->loss) && (!t.best_loss || line->loss < t.best_loss->loss))
                t.best_loss = line;
            if (isfinite(line->accuracy) && (!t.best_accuracy || line->accuracy > t.best_accuracy->accuracy))
                t.best_accuracy = line;
            continue;
        }
        if (line->type == VKF_TRAIN_LOG_SKIPPED)
            continue;
        t.last_step = line;
        t.tokens += (double)line->tokens;
        rates += isfinite(line->tokens_per_second) ? line->tokens_per_second : 0;
        rate_count += isfinite(line->tokens_per_second) ? 1 : 0;
    }
    t.tokens_per_second = rate_count > 0 ? rates / rate_count : NAN;
    return t;
}

static void write_total(const vkf_template_body *body, const char *value, const char *what, const char *where)
{
    const vkf_slot slots[] = {{"value", .data = value}, {"what", .text = what}, {"where", .data = where}, {0}};
    vkf_template_body_write(body, slots, NULL);
}

static void write_best(const vkf_template_body *body, const vkf_train_log_line *line, double value, const char *what)
{
    char number[32], where[48];
    if (!line)
        return;
    snprintf(number, sizeof number, "%.4g", value);
    snprintf(where, sizeof where, "step %llu", (unsigned long long)line->step);
    write_total(body, number, what, where);
}

static void write_duration(const vkf_template_body *body, double seconds)
{
    char text[64], days[32] = "";
    const double rest = fmod(seconds, DAY_S);
    if (seconds >= DAY_S)
        snprintf(days, sizeof days, "%.0f d ", floor(seconds / DAY_S));
    snprintf(text, sizeof text, "%s%d:%02d:%02d", days, (int)(rest / 3600), (int)(fmod(rest, 3600) / 60),
             (int)fmod(rest, 60));
    write_total(body, text, "hours, minutes and seconds", NULL);
}

static void each_total(const vkf_template_body *body, const void *user)
{
    const totals t = sum_up(((const page *)user)->of);
    char number[32];
    if (t.last_step)
        write_best(body, t.last_step, t.last_step->loss, "training loss");
    if (t.best_loss)
        write_best(body, t.best_loss, t.best_loss->loss, "best held-out loss");
    if (t.best_accuracy)
        write_best(body, t.best_accuracy, t.best_accuracy->accuracy, "best held-out accuracy");
    if (isfinite(t.tokens_per_second)) {
        snprintf(number, sizeof number, "%.0f", t.tokens_per_second);
        write_total(body, number, "tokens per second", NULL);
    }
    count_text(t.tokens, number);
    write_total(body, number, "tokens learned from", NULL);
    write_duration(body, t.seconds);
}

static void each_fact(const vkf_template_body *body, const void *user)
{
    const vkf_train_page *of = ((const page *)user)->of;
    for (size_t i = 0; i < of->fact_count; i++) {
        const vkf_slot slots[] = {{"name", .data = of->facts[i].name}, {"value", .data = of->facts[i].value}, {0}};
        vkf_template_body_write(body, slots, NULL);
    }
}

static void each_eval(const vkf_template_body *body, const void *user)
{
    const vkf_train_page *of = ((const page *)user)->of;
    for (size_t i = 0; i < of->line_count; i++) {
        const vkf_train_log_line *line = &of->lines[i];
        const vkf_slot slots[] = {
            {"step", .number = (double)line->step}, {"loss", .number = line->loss},
            {"accuracy", .number = line->accuracy}, {"tokens", .number = (double)line->tokens},
            {"seconds", .number = line->seconds},   {0},
        };
        if (line->type == VKF_TRAIN_LOG_EVAL)
            vkf_template_body_write(body, slots, NULL);
    }
}

void vkf_train_page_write(FILE *out, const vkf_train_page *of)
{
    page p = {.out = out, .of = of, .steps = VKF_TRAIN_NO_SPAN};
    const totals t = sum_up(of);
    for (size_t i = 0; i < of->line_count; i++)
        vkf_train_span_take(&p.steps, (double)of->lines[i].step);
    if (of->line_count > 0)
        p.steps = vkf_train_span_not_empty(p.steps);
    const vkf_slot slots[] = {
        {"model", .data = of->model},
        {"style", .file = vkf_template_profile_css},
        {"own_style", .file = vkf_template_train_css},
        {"facts", .each = each_fact},
        {"nothing", .number = of->line_count == 0},
        {"totals", .each = each_total},
        {"unknown_losses", .number = (double)t.unknown_losses},
        {"plots", .each = each_plot},
        {"has_evals", .number = (double)t.evals},
        {"evals", .each = each_eval},
        {0},
    };
    vkf_template_write(out, vkf_template_train_page_html, slots, &p);
}
