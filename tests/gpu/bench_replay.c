// Replaying recorded command buffers against recording them again: what the host does for every token in either case.
// Then whole steps, one by one and with two in flight.
//
//   gpu_replay [LAYERS [D_MODEL [STEPS]]]
//
// Both ways run the decoding steps of one session, in turns; medians over all steps. `record` is the recording of all
// of the step's command buffers, into the same memory, with pipelines and descriptor sets as they are: the least that
// an engine does which records anew.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fixture.h"
#include "model/session/session.h"
#include "model/session/session_classes.h"
#include "model/session/session_flight.h"
#include "model_files.h"

enum { SOURCE_LEN = 16, TARGET_LEN = 64, TURN = 32 };

typedef enum way { REPLAY = 0, RECORD_AGAIN, WAYS } way;
typedef enum part { UPDATE = 0, RECORD, SUBMIT, HOST, PROCESSOR, WAIT, PARTS } part;
static const char *const way_names[WAYS] = {"replay", "record again"};
static const char *const part_names[PARTS] = {"update", "record", "submit", "host", "thread", "wait"};

typedef struct samples {
    double *us[WAYS][PARTS];
    uint32_t count, capacity; // of each way
} samples;

static void check(vkf_test_gpu *gpu, vkf_status status)
{
    if (status == VKF_OK)
        return;
    fprintf(stderr, "%s: %s\n", vkf_status_name(status), gpu->last_error);
    exit(EXIT_FAILURE);
}

static double thread_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void make_session(vkf_test_gpu *gpu, uint32_t layers, uint32_t d_model, vkf_test_rig *out_rig)
{
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = SOURCE_LEN, .max_target_len = TARGET_LEN};
    vkf_model_config config = vkf_test_small_seq2seq();
    int32_t source[SOURCE_LEN], ids[TARGET_LEN];
    uint32_t length;
    config.d_model = d_model;
    config.num_heads = d_model / 64 > 0 ? d_model / 64 : 1;
    config.dim_feedforward = 4 * d_model;
    config.num_encoder_layers = 1;
    config.num_decoder_layers = layers;
    for (int i = 0; i < SOURCE_LEN; i++)
        source[i] = 4 + i % 4;
    const vkf_greedy_args greedy = {.batch = 1,
                                    .source_len = SOURCE_LEN,
                                    .source_ids = source,
                                    .max_len = 3,
                                    .out_ids = ids,
                                    .out_lengths = &length};
    vkf_test_rig_make(gpu, &config, VKF_DTYPE_F32, &desc, out_rig);
    // Fills the caches of the memory.
    check(gpu, vkf_session_greedy(out_rig->session, &greedy));
}

static vkf__session_sizes sizes_at(uint32_t past)
{
    return (vkf__session_sizes){
        .batch = 1,
        .source_len = SOURCE_LEN,
        .target_len = 1,
        .target_past = past,
        .logit_rows = 1,
    };
}

static void step(vkf_test_gpu *gpu, vkf_session *session, uint32_t past, way how, double ns[PARTS])
{
    const vkf__session_sizes sizes = sizes_at(past);
    size_t begin = session->group_begin[VKF_STAGES_STEP], end = session->group_begin[VKF_STAGES_STEP + 1];
    uint32_t class = 0;
    check(gpu, vkf__session_use_class(session, VKF_STAGES_STEP, &sizes, 0, &class));
    vkf__flight *flight = &session->flights[0];
    const vkf__batch *batch = &flight->batches[VKF_STAGES_STEP][class];
    double thread = thread_ns(), start = vkf__now_ns();
    for (size_t i = begin; i < end; i++)
        check(gpu, vkf__stage_update(session, &session->stages[i], &sizes));
    double updated = vkf__now_ns();
    for (size_t i = begin; how == RECORD_AGAIN && i < end; i++)
        check(gpu, vkf__work_record_again(session->stages[i].work));
    double recorded = vkf__now_ns();
    check(gpu, vkf__submission_run(&flight->submission, batch->command_buffers, (uint32_t)batch->count));
    double submitted = flight->submission.submitted_ns;
    ns[WAIT] = vkf__now_ns() - submitted;
    ns[PROCESSOR] = thread_ns() - thread;
    ns[UPDATE] = updated - start;
    ns[RECORD] = recorded - updated;
    ns[SUBMIT] = submitted - recorded;
    ns[HOST] = submitted - start;
}

static void measure(vkf_test_gpu *gpu, vkf_session *session, samples *out)
{
    // The first turn of each way is not counted.
    for (uint32_t i = 0; out->count < out->capacity; i++) {
        for (way how = 0; how < WAYS; how++) {
            for (uint32_t s = 0; s < TURN; s++) {
                double ns[PARTS];
                step(gpu, session, s, how, ns);
                for (part p = 0; i > 0 && p < PARTS; p++)
                    out->us[how][p][out->count + s] = ns[p] * 1e-3;
            }
        }
        out->count += i > 0 ? TURN : 0;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const vkf_session *session, samples *s)
{
    uint32_t dispatches = 0;
    size_t begin = session->group_begin[VKF_STAGES_STEP], end = session->group_begin[VKF_STAGES_STEP + 1];
    for (size_t i = begin; i < end; i++)
        dispatches += session->stages[i].work->plan.node_count;
    printf("%u dispatches in %zu command buffers, %u steps each way, medians in us\n", dispatches, end - begin,
           s->count);
    printf("%-14s", "");
    for (part p = 0; p < PARTS; p++)
        printf("%9s", part_names[p]);
    printf("\n");
    for (way how = 0; how < WAYS; how++) {
        printf("%-14s", way_names[how]);
        for (part p = 0; p < PARTS; p++) {
            qsort(s->us[how][p], s->count, sizeof s->us[how][p][0], by_value);
            printf("%9.1f", s->us[how][p][s->count / 2]);
        }
        printf("\n");
    }
}

static double turn_us(vkf_test_gpu *gpu, vkf_session *session, bool ahead)
{
    const double begin = vkf__now_ns();
    for (uint32_t s = 0; s < TURN; s++) {
        const vkf__session_sizes sizes = sizes_at(s), next = sizes_at(s + 1);
        check(gpu, vkf__session_step(session, &sizes, ahead && s + 1 < TURN ? &next : NULL));
    }
    return (vkf__now_ns() - begin) * 1e-3 / TURN;
}

static void compare_flights(vkf_test_gpu *gpu, vkf_session *session, samples *s)
{
    double *us[] = {s->us[0][0], s->us[0][1]};
    const uint32_t turns = s->capacity / TURN;
    for (uint32_t i = 0; i <= turns; i++)
        for (int ahead = 0; ahead < 2; ahead++) {
            const double each = turn_us(gpu, session, ahead > 0);
            if (i > 0)
                us[ahead][i - 1] = each;
        }
    for (int ahead = 0; ahead < 2; ahead++)
        qsort(us[ahead], turns, sizeof us[ahead][0], by_value);
    printf("a whole step: %.1f us one by one, %.1f us with two in flight\n", us[0][turns / 2], us[1][turns / 2]);
}

static uint32_t argument(int argc, char **argv, int index, uint32_t otherwise)
{
    return argc > index ? (uint32_t)strtoul(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    vkf_test_gpu gpu;
    vkf_test_rig rig;
    vkf_context_desc desc = {0};
    vkf_device_info info;
    uint32_t layers = argument(argc, argv, 1, 2), d_model = argument(argc, argv, 2, 128);
    samples all = {.capacity = (argument(argc, argv, 3, 512) + TURN - 1) / TURN * TURN};
    double *values = calloc((size_t)WAYS * PARTS * all.capacity, sizeof *values);
    if (!values || vkf_test_gpu_open(&gpu, &desc) != 0 || !gpu.context) {
        fprintf(stderr, "no memory or no device\n");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < WAYS * PARTS; i++)
        all.us[i / PARTS][i % PARTS] = values + (size_t)i * all.capacity;
    vkf_context_get_device_info(gpu.context, &info);
    printf("%s, %s %s; %u decoder layers of width %u\n", info.name, info.driver_name, info.driver_info, layers,
           d_model);
    gpu.context->device.plan.caps.traits.runs_ahead = true;
    make_session(&gpu, layers, d_model, &rig);
    measure(&gpu, rig.session, &all);
    print(rig.session, &all);
    compare_flights(&gpu, rig.session, &all);
    free(values);
    vkf_test_rig_free(&rig);
    vkf_context_destroy(&gpu.context);
    return EXIT_SUCCESS;
}
