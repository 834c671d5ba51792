// The roofline plot: Williams, Waterman and Patterson, "Roofline", CACM 52 (4), 2009.
#include <math.h>

#include "lab/profile/profile_page.h"

// Pixels, except the width, which is the reader's: horizontal positions are percentages.
#define HEIGHT 320.0
#define LARGEST_RADIUS 18.0
#define LEAST_RADIUS 3.0
#define NUMBER_WIDTH 15.0
#define NUMBER_HEIGHT 15.0
#define EMPTY_DECADES 0.3 // kept free around points and roofs

// Widths of the plot at which the numbers of points should not overlap.
static const double widths[] = {260, 340, 480, 700, 1000};
enum { WIDTH_COUNT = sizeof widths / sizeof widths[0] };

typedef struct axes {
    double x_low, x_high, y_low, y_high; // decades: log10 of flops/byte, and of GFLOP/s
} axes;

typedef struct plot {
    const vkf_profile_page *page;
    axes axes;
} plot;

typedef struct point {
    size_t rank; // of the operation
    double x;    // 0 to 1, horizontally
    double y;    // pixels from the top
    double radius;
    double dx, dy; // of its number, from the centre, in pixels
    bool apart;    // the number is so far away that a line leads to it
} point;

static double intensity(const vkf_profile_group *op)
{
    double bytes = op->bytes_read + op->bytes_written;
    return bytes > 0 ? op->flops / bytes : 0;
}

static bool drawable(const vkf_profile_group *op)
{
    return op->median_ns > 0 && op->flops > 0 && intensity(op) > 0;
}

static void include(axes *a, double flops_per_byte, double gflops)
{
    a->x_low = fmin(a->x_low, log10(flops_per_byte) - EMPTY_DECADES);
    a->x_high = fmax(a->x_high, log10(flops_per_byte) + EMPTY_DECADES);
    a->y_low = fmin(a->y_low, log10(gflops) - EMPTY_DECADES);
    a->y_high = fmax(a->y_high, log10(gflops) + EMPTY_DECADES);
}

// Widens a range to at least two powers of ten, so that it has labels.
static void widen(double *low, double *high)
{
    if (floor(*high) - ceil(*low) >= 1)
        return;
    *low = floor(*low);
    *high = ceil(*high);
}

static axes make_axes(const vkf_profile_page *page)
{
    axes a = {HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < page->ops.count; i++)
        if (drawable(&page->ops.list[i]))
            include(&a, intensity(&page->ops.list[i]), page->ops.list[i].flops / page->ops.list[i].median_ns);
    if (page->has_roofs) {
        double peak = page->roofs.fma_flops_per_s;
        double slower = fmin(page->roofs.copy_bytes_per_s, page->roofs.read_bytes_per_s);
        include(&a, peak / slower, peak * 1e-9);
    }
    widen(&a.x_low, &a.x_high);
    widen(&a.y_low, &a.y_high);
    return a;
}

static double across(const axes *a, double flops_per_byte)
{
    return (log10(flops_per_byte) - a->x_low) / (a->x_high - a->x_low);
}

static double down(const axes *a, double gflops)
{
    return HEIGHT * (a->y_high - log10(gflops)) / (a->y_high - a->y_low);
}

// Axes and roofs -----------------------------------------------------------------------------------------------------

// A power of ten along an axis.
static void write_power(const vkf_template_body *body, int exponent, bool labelled, double x, double y)
{
    char power[16];
    if (exponent < -3 || exponent > 4)
        snprintf(power, sizeof power, "1e%d", exponent);
    else
        snprintf(power, sizeof power, "%g", pow(10, exponent));
    const vkf_slot slots[] = {
        {"x", .number = x},           {"y", .number = y},
        {"label_y", .number = y + 4}, {"labelled", .number = labelled},
        {"power", .text = power},     {0},
    };
    vkf_template_body_write(body, slots, NULL);
}

// The step that gives at most seven labels along an axis.
static int label_step(double low, double high)
{
    return 1 + (int)((high - low) / 7);
}

static void each_column(const vkf_template_body *body, const void *user)
{
    const axes *a = &((const plot *)user)->axes;
    for (int e = (int)ceil(a->x_low); e <= (int)floor(a->x_high); e++)
        write_power(body, e, e % label_step(a->x_low, a->x_high) == 0, 100 * (e - a->x_low) / (a->x_high - a->x_low),
                    0);
}

static void each_row(const vkf_template_body *body, const void *user)
{
    const axes *a = &((const plot *)user)->axes;
    for (int e = (int)ceil(a->y_low); e <= (int)floor(a->y_high); e++)
        write_power(body, e, e % label_step(a->y_low, a->y_high) == 0, 0,
                    HEIGHT * (a->y_high - e) / (a->y_high - a->y_low));
}

static void write_roof_line(const vkf_template_body *body, const char *class, double x1, double y1, double x2,
                            double y2)
{
    const vkf_slot slots[] = {
        {"class", .text = class},   {"x1", .number = 100 * x1}, {"y1", .number = y1},
        {"x2", .number = 100 * x2}, {"y2", .number = y2},       {0},
    };
    vkf_template_body_write(body, slots, NULL);
}

// Writes a bandwidth's roof, from where it enters the plot to where it meets the peak.
static void write_bandwidth(const vkf_template_body *body, const axes *a, const char *class, double bytes_per_s,
                            double peak_flops_per_s)
{
    double begin = fmax(pow(10, a->x_low), pow(10, a->y_low) * 1e9 / bytes_per_s), end = peak_flops_per_s / bytes_per_s;
    write_roof_line(body, class, across(a, begin), down(a, begin * bytes_per_s * 1e-9), across(a, end),
                    down(a, peak_flops_per_s * 1e-9));
}

static void each_roof_line(const vkf_template_body *body, const void *user)
{
    const plot *p = user;
    const axes *a = &p->axes;
    const vkf_roofs *roofs = &p->page->roofs;
    double peak = roofs->fma_flops_per_s, faster = fmax(roofs->copy_bytes_per_s, roofs->read_bytes_per_s);
    if (!p->page->has_roofs)
        return;
    write_bandwidth(body, a, "roof copy", roofs->copy_bytes_per_s, peak);
    write_bandwidth(body, a, "roof read", roofs->read_bytes_per_s, peak);
    write_roof_line(body, "roof", fmax(0, across(a, peak / faster)), down(a, peak * 1e-9), 1, down(a, peak * 1e-9));
}

// Points and their numbers -------------------------------------------------------------------------------------------

static point make_point(const vkf_profile_page *page, const axes *a, size_t rank)
{
    const vkf_profile_group *op = &page->ops.list[rank];
    return (point){
        .rank = rank,
        .x = across(a, intensity(op)),
        .y = down(a, op->flops / op->median_ns),
        .radius = fmax(LEAST_RADIUS, LARGEST_RADIUS * sqrt(op->median_ns / page->ops.list[0].median_ns)),
    };
}

// The distance of (x, y) from the line between (0, 0) and (dx, dy).
static double distance_to_lead(double x, double y, double dx, double dy)
{
    double along = fmin(fmax((x * dx + y * dy) / (dx * dx + dy * dy), 0), 1);
    return hypot(x - along * dx, y - along * dy);
}

// How much a number at (dx, dy) from its point would hide, or would be hidden by, at one width of the plot. Two numbers
// over each other are worst; leaving the plot, lying on a line and covering a circle follow in this order.
static double conflicts(const point *points, size_t count, const point *p, double dx, double dy, double width)
{
    double x = p->x * width + dx, y = p->y + dy;
    double sum = y < NUMBER_HEIGHT / 2 || y > HEIGHT - NUMBER_HEIGHT / 2 || x < 6 || x > width - 6 ? 5 : 0;
    for (size_t i = 0; i < count; i++) {
        const point *other = &points[i];
        double ox = other->x * width, oy = other->y;
        if (other != p && hypot(x - ox, y - oy) < other->radius + NUMBER_HEIGHT / 2)
            sum += 2;
        if (other < p && distance_to_lead(ox + other->dx - p->x * width, oy + other->dy - p->y, dx, dy) < 7)
            sum += 4;
        if (other < p && fabs(x - ox - other->dx) < NUMBER_WIDTH && fabs(y - oy - other->dy) < NUMBER_HEIGHT)
            sum += 20;
    }
    return sum;
}

// Places a number around its point, or farther away in the same directions, where it hides least. Numbers of earlier
// points are already placed.
static void place_number(const point *points, size_t count, point *p)
{
    double least = HUGE_VAL;
    for (int ring = 0; ring < 4; ring++)
        for (int direction = 0; direction < 16; direction++) {
            double angle = direction * acos(-1.0) / 8, distance = p->radius + 9 + 16 * ring;
            double dx = distance * cos(angle), dy = -distance * sin(angle), sum = ring * 0.5 * WIDTH_COUNT;
            for (size_t w = 0; w < WIDTH_COUNT; w++)
                sum += conflicts(points, count, p, dx, dy, widths[w]);
            if (sum < least) {
                least = sum;
                p->dx = dx;
                p->dy = dy;
                p->apart = ring > 0;
            }
        }
}

// The larger circles come first, so that they hide none.
static void each_circle(const vkf_template_body *body, const void *user)
{
    const plot *p = user;
    for (size_t i = 0; i < p->page->ops.count; i++) {
        const vkf_profile_group *op = &p->page->ops.list[i];
        if (!drawable(op))
            continue;
        const point at = make_point(p->page, &p->axes, i);
        const char *bound;
        double roof = vkf_page_roof(p->page, op, &bound);
        const vkf_slot slots[] = {
            {"class", .text = vkf_page_colour(i)},
            {"x", .number = 100 * at.x},
            {"y", .number = at.y},
            {"radius", .number = at.radius},
            {"submission", .data = op->submission},
            {"label", .data = op->label},
            {"ms", .number = op->median_ns * 1e-6},
            {"intensity", .number = intensity(op)},
            {"gflops", .number = op->flops / op->median_ns},
            {"has_roof", .number = roof >= 0},
            {"roof", .number = 100 * roof},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

static void each_number(const vkf_template_body *body, const void *user)
{
    const plot *p = user;
    point points[VKF_PAGE_NUMBERED];
    size_t count = 0;
    for (size_t i = 0; i < p->page->ops.count && i < VKF_PAGE_NUMBERED; i++)
        if (drawable(&p->page->ops.list[i]))
            points[count++] = make_point(p->page, &p->axes, i);
    for (size_t i = 0; i < count; i++)
        place_number(points, count, &points[i]);
    for (size_t i = 0; i < count; i++) {
        const vkf_slot slots[] = {
            {"number", .number = (double)(points[i].rank + 1)},
            {"x", .number = 100 * points[i].x},
            {"y", .number = points[i].y},
            {"dx", .number = points[i].dx},
            {"dy", .number = points[i].dy},
            {"text_y", .number = points[i].dy + 4},
            {"apart", .number = points[i].apart},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

// The section --------------------------------------------------------------------------------------------------------

static void each_roof(const vkf_template_body *body, const void *user)
{
    const vkf_roofs *roofs = &((const plot *)user)->page->roofs;
    const struct {
        const char *class, *name, *unit;
        double value;
    } keys[] = {
        {"roof", "multiply-adds", "GFLOP/s", roofs->fma_flops_per_s},
        {"roof copy", "copying", "GB/s", roofs->copy_bytes_per_s},
        {"roof read", "reading", "GB/s", roofs->read_bytes_per_s},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const vkf_slot slots[] = {
            {"class", .text = keys[i].class},
            {"name", .text = keys[i].name},
            {"value", .number = keys[i].value * 1e-9},
            {"unit", .text = keys[i].unit},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
    }
}

static void each_numbered_op(const vkf_template_body *body, const void *user)
{
    vkf_page_write_ops(body, ((const plot *)user)->page, VKF_PAGE_NUMBERED);
}

// Counts what a logarithmic plot cannot show: operations without floating-point operations, or without measurable time.
static size_t count_left_out(const vkf_profile_groups *ops, double *out_ns)
{
    size_t count = 0;
    *out_ns = 0;
    for (size_t i = 0; i < ops->count; i++)
        if (!drawable(&ops->list[i])) {
            count++;
            *out_ns += ops->list[i].median_ns;
        }
    return count;
}

void vkf_page_roofline(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const plot p = {page, make_axes(page)};
    double left_out_ns;
    size_t left_out = count_left_out(&page->ops, &left_out_ns);
    const vkf_slot slots[] = {
        {"drawn", .number = page->timestamps && p.axes.x_low <= p.axes.x_high},
        {"height", .number = HEIGHT},
        {"columns", .each = each_column},
        {"labels_y", .number = HEIGHT + 16},
        {"rows", .each = each_row},
        {"unit_y", .number = HEIGHT + 33},
        {"roof_lines", .each = each_roof_line},
        {"circles", .each = each_circle},
        {"numbers", .each = each_number},
        {"roofs", .each = each_roof},
        {"numbered_ops", .each = each_numbered_op},
        {"left_out", .number = (double)left_out},
        {"left_out_ms", .number = left_out_ns * 1e-6},
        {0},
    };
    vkf_template_body_write(body, slots, &p);
}
