// The roofline plot: Williams, Waterman and Patterson, "Roofline", CACM 52 (4), 2009.
#include <math.h>

#include "profile/profile_page.h"

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

static void write_power(FILE *out, int exponent)
{
    if (exponent < -3 || exponent > 4)
        fprintf(out, "1e%d", exponent);
    else
        fprintf(out, "%g", pow(10, exponent));
}

// The step that gives at most seven labels along an axis.
static int label_step(double low, double high)
{
    return 1 + (int)((high - low) / 7);
}

static void write_axes(FILE *out, const axes *a)
{
    int x_step = label_step(a->x_low, a->x_high), y_step = label_step(a->y_low, a->y_high);
    fputs("<rect width=\"100%\" height=\"100%\" style=\"fill: none; stroke: var(--line)\"/>\n", out);
    for (int e = (int)ceil(a->x_low); e <= (int)floor(a->x_high); e++) {
        double x = 100 * (e - a->x_low) / (a->x_high - a->x_low);
        fprintf(out, "<line class=\"grid\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"100%%\"/>\n", x, x);
        if (e % x_step != 0)
            continue;
        fprintf(out, "<text x=\"%.3f%%\" y=\"%g\" text-anchor=\"middle\">", x, HEIGHT + 16);
        write_power(out, e);
        fputs("</text>\n", out);
    }
    for (int e = (int)ceil(a->y_low); e <= (int)floor(a->y_high); e++) {
        double y = HEIGHT * (a->y_high - e) / (a->y_high - a->y_low);
        fprintf(out, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.2f\" y2=\"%.2f\"/>\n", y, y);
        if (e % y_step != 0)
            continue;
        fprintf(out, "<text x=\"-6\" y=\"%.2f\" text-anchor=\"end\">", y + 4);
        write_power(out, e);
        fputs("</text>\n", out);
    }
}

// Writes a bandwidth's roof, from where it enters the plot to where it meets the peak.
static void write_bandwidth(FILE *out, const axes *a, const char *class, double bytes_per_s, double peak_flops_per_s)
{
    double begin = fmax(pow(10, a->x_low), pow(10, a->y_low) * 1e9 / bytes_per_s), end = peak_flops_per_s / bytes_per_s;
    fprintf(out, "<line class=\"%s\" x1=\"%.3f%%\" y1=\"%.2f\" x2=\"%.3f%%\" y2=\"%.2f\"/>\n", class,
            100 * across(a, begin), down(a, begin * bytes_per_s * 1e-9), 100 * across(a, end),
            down(a, peak_flops_per_s * 1e-9));
}

static void write_roofs(FILE *out, const axes *a, const vkf_roofs *roofs)
{
    double peak = roofs->fma_flops_per_s, faster = fmax(roofs->copy_bytes_per_s, roofs->read_bytes_per_s);
    write_bandwidth(out, a, "roof copy", roofs->copy_bytes_per_s, peak);
    write_bandwidth(out, a, "roof read", roofs->read_bytes_per_s, peak);
    fprintf(out, "<line class=\"roof\" x1=\"%.3f%%\" y1=\"%.2f\" x2=\"100%%\" y2=\"%.2f\"/>\n",
            100 * fmax(0, across(a, peak / faster)), down(a, peak * 1e-9), down(a, peak * 1e-9));
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

static void write_circle(const vkf_profile_page *page, const point *p)
{
    const vkf_profile_group *op = &page->ops.list[p->rank];
    const char *bound;
    double fraction = vkf_page_roof(page, op, &bound);
    fprintf(page->out, "<circle class=\"%s\" cx=\"%.3f%%\" cy=\"%.2f\" r=\"%.2f\"><title>", vkf_page_colour(p->rank),
            100 * p->x, p->y, p->radius);
    vkf_page_op(page, op);
    fprintf(page->out, ": %.3f ms, %.3g flops/byte, %.3g GFLOP/s", op->median_ns * 1e-6, intensity(op),
            op->flops / op->median_ns);
    if (fraction >= 0)
        fprintf(page->out, ", %.1f %% of the roof", 100 * fraction);
    fputs("</title></circle>\n", page->out);
}

static void write_number(FILE *out, const point *p)
{
    fprintf(out, "<svg x=\"%.3f%%\" y=\"%.2f\" width=\"1\" height=\"1\">", 100 * p->x, p->y);
    if (p->apart)
        fprintf(out, "<line class=\"lead\" x1=\"0\" y1=\"0\" x2=\"%.2f\" y2=\"%.2f\"/>", p->dx, p->dy);
    fprintf(out, "<text class=\"number\" x=\"%.2f\" y=\"%.2f\">%zu</text></svg>\n", p->dx, p->dy + 4, p->rank + 1);
}

// The larger circles are drawn first, so that they hide none. Numbers are drawn over all circles.
static void write_points(const vkf_profile_page *page, const axes *a)
{
    point numbered[VKF_PAGE_NUMBERED];
    size_t count = 0;
    for (size_t i = 0; i < page->ops.count; i++) {
        if (!drawable(&page->ops.list[i]))
            continue;
        point p = make_point(page, a, i);
        write_circle(page, &p);
        if (i < VKF_PAGE_NUMBERED)
            numbered[count++] = p;
    }
    for (size_t i = 0; i < count; i++)
        place_number(numbered, count, &numbered[i]);
    for (size_t i = 0; i < count; i++)
        write_number(page->out, &numbered[i]);
}

// The section --------------------------------------------------------------------------------------------------------

static void write_roof_key(const vkf_profile_page *page)
{
    const vkf_roofs *roofs = &page->roofs;
    if (!page->has_roofs) {
        fputs("<p>The roofs were not measured, and are not drawn.</p>\n", page->out);
        return;
    }
    const struct {
        const char *class, *name, *unit;
        double value;
    } keys[] = {
        {"roof", "multiply-adds", "GFLOP/s", roofs->fma_flops_per_s},
        {"roof copy", "copying", "GB/s", roofs->copy_bytes_per_s},
        {"roof read", "reading", "GB/s", roofs->read_bytes_per_s},
    };
    fputs("<ul class=\"key-list\">\n", page->out);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        fprintf(page->out,
                "<li><svg aria-hidden=\"true\"><line class=\"%s\" x1=\"0\" x2=\"100%%\" y1=\"4\" y2=\"4\"/></svg>%s "
                "%.4g %s</li>\n",
                keys[i].class, keys[i].name, keys[i].value * 1e-9, keys[i].unit);
    fputs("</ul>\n", page->out);
}

static void write_op_key(const vkf_profile_page *page)
{
    fputs("<ol class=\"key-list\">\n", page->out);
    for (size_t i = 0; i < page->ops.count && i < VKF_PAGE_NUMBERED; i++) {
        fprintf(page->out, "<li><i class=\"key %s\"></i>%zu ", vkf_page_colour(i), i + 1);
        vkf_page_op(page, &page->ops.list[i]);
        fputs("</li>\n", page->out);
    }
    fputs("</ol>\n", page->out);
}

// Lists what a logarithmic plot cannot show: operations without floating-point operations, or without measurable time.
static void write_left_out(const vkf_profile_page *page)
{
    size_t count = 0;
    double ns = 0;
    for (size_t i = 0; i < page->ops.count; i++)
        if (!drawable(&page->ops.list[i])) {
            count++;
            ns += page->ops.list[i].median_ns;
        }
    if (count > 0)
        fprintf(page->out,
                "<p>Left out as they do no arithmetic, or took no time that was seen: %zu, which took %.3f ms.</p>\n",
                count, ns * 1e-6);
}

void vkf_page_roofline(const void *user)
{
    const vkf_profile_page *page = user;
    const axes a = make_axes(page);
    if (!page->timestamps || a.x_low > a.x_high) {
        fputs("<p>There is nothing to draw without times of arithmetic.</p>\n", page->out);
        return;
    }
    fputs(
        "<p>How fast each operation computes (GFLOP/s, upwards) and how much it computes for a byte that it must move "
        "(flops/byte, to the right), both logarithmic. The area of a circle is the time.",
        page->out);
    if (page->has_roofs)
        fputs(" An operation cannot be above the roofs unless its data stay in a cache.", page->out);
    fputs("</p>\n", page->out);
    fprintf(page->out, "<div class=\"plot\">\n<svg role=\"img\" aria-label=\"Roofline plot\" style=\"height: %gpx\">\n",
            HEIGHT);
    write_axes(page->out, &a);
    fprintf(page->out,
            "<text class=\"faint\" x=\"-40\" y=\"-9\">GFLOP/s</text>\n"
            "<text class=\"faint\" x=\"100%%\" y=\"%g\" text-anchor=\"end\">flops/byte</text>\n",
            HEIGHT + 33);
    if (page->has_roofs)
        write_roofs(page->out, &a, &page->roofs);
    write_points(page, &a);
    fputs("</svg>\n</div>\n", page->out);
    write_roof_key(page);
    write_op_key(page);
    write_left_out(page);
}
