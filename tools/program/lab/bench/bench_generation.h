// Generation with a model as the subject of a benchmark: whole runs, and single steps of them.
#ifndef VKF_PROGRAM_BENCH_GENERATION_H
#define VKF_PROGRAM_BENCH_GENERATION_H

#include "lab/bench/bench.h"
#include "lab/bench/bench_roof.h"

// In the order of the extents of `bench model`, `bench decode` and `bench train`.
typedef struct vkf_bench_lengths {
    uint32_t batch;
    uint32_t source_len;
    uint32_t target_len; // of a row, including its first token
} vkf_bench_lengths;

// The times of one run or one step. gpu_ms is negative without timestamps.
typedef struct vkf_bench_time {
    double wall_ms;
    double gpu_ms;
    double host_us; // processor time of the calling thread, without waiting for the device
} vkf_bench_time;

typedef struct vkf_bench_generation {
    vkf_bench_lengths lengths;
    vkf_model_config config;
    vkf_session *session;
    bool timed;
    int32_t *source_ids; // (batch, source_len)
    int32_t *target_ids; // (batch, target_len)
    uint32_t *row_lengths;
    vkf_timing *timings;
    uint32_t timing_capacity;
    vkf_status status; // of the calls made while generating
    // The last run.
    vkf_bench_time run;
    uint32_t steps;             // tokens generated for the longest row
    vkf_bench_time *step_times; // (target_len), of step_count steps
    uint32_t step_count;        // all but the first, which also projects the memory, and the last
    // Clocks that run while the library works, and are stopped while its timings are read.
    double started_ms, started_us;
    vkf_bench_time since; // since the end of the last step
} vkf_bench_generation;

// Loads the model, unless the last shape did, and makes a session. Failures have been printed.
vkf_status vkf_bench_generation_begin(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_lengths *lengths,
                                      vkf_bench_generation *out_generation);
void vkf_bench_generation_end(vkf_bench_generation *generation);

// Runs the encoder, and then one step after another.
vkf_status vkf_bench_generate(vkf_bench_generation *generation);

// The cost of the encoder's run, including the keys and values of the memory, and that of a step after `past` tokens.
vkf_bench_cost vkf_bench_encode_cost(const vkf_model_config *config, const vkf_bench_lengths *lengths,
                                     const vkf_bench_types *types);
vkf_bench_cost vkf_bench_step_cost(const vkf_model_config *config, const vkf_bench_lengths *lengths,
                                   const vkf_bench_types *types, double past);

// {batch, source_len, target_len, d_model, heads, ff, encoder_layers, decoder_layers, vocab}
json_t *vkf_bench_generation_shape(const vkf_bench_generation *generation);

// The extents of these benchmarks.
#define VKF_BENCH_GENERATION_EXTENTS                    \
    {                                                   \
        .list = {{'B', "batch", 1u << 16, 1, 0},        \
                 {'S', "source-len", 1u << 20, 16, 0},  \
                 {'T', "target-len", 1u << 20, 24, 0}}, \
        .count = 3, .forms = {                          \
            "BST"                                       \
        }                                               \
    }

// The settings of both benchmarks, and their help.
#define VKF_BENCH_GENERATION_SETTINGS 6
extern const vkf_option vkf_bench_generation_settings[VKF_BENCH_GENERATION_SETTINGS];
#define VKF_BENCH_GENERATION_HELP                                             \
    "MODEL is a model's directory; without it there are random weights, of\n" \
    "\n"                                                                      \
    "  --d-model D        default 512\n"                                      \
    "  --heads H          default 8\n"                                        \
    "  --ff F             width of the feed-forward parts, default 2048\n"    \
    "  --encoder-layers N, --decoder-layers N\n"                              \
    "                     default 6\n"                                        \
    "  --vocab V          source and target tokens, default 8000\n"

// The check() function of both benchmarks.
bool vkf_bench_generation_check(const vkf_bench_options *options, const vkf_bench_shape *shape);

#endif
