// Gradients against differences of the loss, on the user's own model, data and device.
//
// Each parameter goes a little along a direction, both ways, and the loss is looked at. The direction is half that of
// the gradient, along which the loss changes most, so that it stands out from rounding, and half a random one, along
// which a wrong gradient shows.
#include <math.h>
#include <stdlib.h>

#include "command/commands.h"
#include "output/visible_text.h"
#include "train/train_run.h"

#define MOST_CHECKED 24   // parameters
#define LARGER_STEP 3e-3f // of two; the other is half as long
#define NEAR_SHARE 0.03   // how far apart both may be, as a share of the slope,
#define NEAR 2e-3         // and beside it, what rounding does to losses near 1

typedef struct check {
    vkf_train_run *run;
    const vkf_train_batch *batch;
    uint32_t index;
    vkf_train_parameter parameter; // of that index
    size_t count;                  // its elements
    float *from, *moved, *direction, *gradient;
    double slope, measured;
} check;

static vkf_status loss_at(check *c, float step, double *out_loss)
{
    const vkf_tensor *value = &c->parameter.value;
    vkf_train_result result;
    for (size_t i = 0; i < c->count; i++)
        c->moved[i] = c->from[i] + step * c->direction[i];
    VKF_RETURN_IF_ERROR(vkf_buffer_write(value->buffer, value->offset_bytes, c->moved, c->count * sizeof *c->moved));
    VKF_RETURN_IF_ERROR(vkf_trainer_evaluate(c->run->trainer, c->batch, &result));
    *out_loss = result.loss;
    return VKF_OK;
}

static double norm_of(const float *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)values[i] * values[i];
    return sqrt(sum);
}

// Numerical Recipes' generator of 32 bits: any numbers will do here.
static float next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static void aim(check *c)
{
    uint32_t state = (uint32_t)c->count;
    for (size_t i = 0; i < c->count; i++)
        c->direction[i] = next_random(&state);
    const double random = norm_of(c->direction, c->count), gradient = norm_of(c->gradient, c->count);
    for (size_t i = 0; i < c->count; i++)
        c->direction[i] = (float)(c->direction[i] / random + (gradient > 0 ? c->gradient[i] / gradient : 0));
    const double length = norm_of(c->direction, c->count);
    c->slope = 0;
    for (size_t i = 0; i < c->count; i++) {
        c->direction[i] = (float)(c->direction[i] / length);
        c->slope += (double)c->direction[i] * c->gradient[i];
    }
}

// What the square of the step has no part in, of central differences with two steps (Richardson).
static vkf_status measure(check *c)
{
    const float steps[] = {LARGER_STEP, LARGER_STEP / 2};
    double slopes[2], up, down;
    for (int i = 0; i < 2; i++) {
        VKF_RETURN_IF_ERROR(loss_at(c, steps[i], &up));
        VKF_RETURN_IF_ERROR(loss_at(c, -steps[i], &down));
        slopes[i] = (up - down) / (2.0 * steps[i]);
    }
    c->measured = (4 * slopes[1] - slopes[0]) / 3;
    return VKF_OK;
}

static vkf_status check_values(check *c)
{
    const vkf_tensor *value = &c->parameter.value;
    const size_t bytes = c->count * sizeof *c->from;
    VKF_RETURN_IF_ERROR(vkf_trainer_compute_gradient(c->run->trainer, c->batch, c->index, c->gradient));
    VKF_RETURN_IF_ERROR(vkf_buffer_read(value->buffer, value->offset_bytes, c->from, bytes));
    aim(c);
    VKF_RETURN_IF_ERROR(measure(c));
    return vkf_buffer_write(value->buffer, value->offset_bytes, c->from, bytes);
}

static vkf_status check_parameter(check *c)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = c->run->host;
    c->count = (size_t)c->parameter.count;
    VKF_ALLOC(host, c->from, c->count);
    VKF_ALLOC(host, c->moved, c->count);
    VKF_ALLOC(host, c->direction, c->count);
    VKF_ALLOC(host, c->gradient, c->count);
    VKF_TRY(check_values(c));
fail:
    vkf__free(host, c->from);
    vkf__free(host, c->moved);
    vkf__free(host, c->direction);
    vkf__free(host, c->gradient);
    c->from = c->moved = c->direction = c->gradient = NULL;
    return status;
}

static bool is_near(const check *c)
{
    return fabs(c->slope - c->measured) <= NEAR + NEAR_SHARE * fabs(c->slope);
}

static uint32_t count_trained(const vkf_trainer *trainer)
{
    vkf_train_parameter parameter;
    uint32_t count = 0;
    while (vkf_trainer_get_parameter(trainer, count, &parameter))
        count++;
    return count;
}

// Every so many of them, so that all parts of the model have their turn.
static vkf_status check_all(vkf_train_run *run, size_t *out_off)
{
    const uint32_t every = (count_trained(run->trainer) + MOST_CHECKED - 1) / MOST_CHECKED;
    check c = {.run = run, .batch = &run->train.slots[0].batch};
    VKF_RETURN_IF_ERROR(vkf_train_data_take(&run->train, 0, 0));
    vkf_print("%-60s %13s %13s\n", "parameter", "gradient", "measured");
    for (; vkf_trainer_get_parameter(run->trainer, c.index, &c.parameter); c.index += every) {
        VKF_RETURN_IF_ERROR(check_parameter(&c));
        *out_off += !is_near(&c);
        vkf_print("%-60s %13.6g %13.6g  %s\n", c.parameter.name, c.slope, c.measured, is_near(&c) ? "right" : "OFF");
    }
    return VKF_OK;
}

int vkf_train_check_gradients(vkf_train_run *run)
{
    size_t off = 0;
    const vkf_status status = check_all(run, &off);
    if (status != VKF_OK)
        vkf_print_error("the gradients cannot be checked: %s", vkf_status_text(status));
    else if (off > 0)
        vkf_print_error("%zu gradients are not the slopes of the loss", off);
    return status == VKF_OK && off == 0 ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}
