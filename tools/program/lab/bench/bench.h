// The benchmarks: what each of them is, and what they share while they run.
#ifndef VKF_PROGRAM_BENCH_H
#define VKF_PROGRAM_BENCH_H

#include "lab/bench/bench_options.h"
#include "lab/bench/bench_report.h"

// One run of the program. Results and messages are printed as they come.
typedef struct vkf_bench {
    const vkf_bench_options *options;
    vkf_context *context;
    vkf_bench_report *report;
    struct vkf_bench_pair *pair; // the pair that this is a half of, see bench_pair.h; NULL: none
    bool (*stopped)(void);       // called between repetitions; NULL: never stops
    uint32_t part;               // which of the benchmark's parts runs
    vkf_settled settled;         // whether the device's clock had settled before the last repetitions
    vkf_model *model;            // of the last shape, kept for the next one; NULL: none
    vkf_model_precision model_precision;
} vkf_bench;

struct vkf_bench_spec {
    const char *name;
    const char *summary; // one line
    const char *help;    // what is measured, and the benchmark's own options
    vkf_bench_extents extents;
    const vkf_option *settings;
    uint32_t setting_count;
    bool f32_activations; // no others are allowed
    bool mixed_types;     // 16-bit weights with f32 activations are allowed
    bool block_types;     // weights in blocks are allowed, too
    bool takes_directory; // an argument that is not a shape is a model's directory
    bool tokens;          // results have host times and tokens per second
    uint32_t parts;       // results of a shape, each from its own run; 0: one
    // Whether a shape makes sense; false after a message. NULL: every one does.
    bool (*check)(const vkf_bench_options *options, const vkf_bench_shape *shape);
    // What runs instead of all this, with a command line of its own; NULL: nothing. `argv` begins with its name.
    int (*command)(int argc, char **argv);
    // Measures one part of a shape. Failures have been printed.
    vkf_status (*run)(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape);
};

// Opens the context, measures its roofs unless the options say no, and begins the report. False after a message.
// vkf_bench_end() must follow in either case.
bool vkf_bench_begin(vkf_bench *bench, const vkf_bench_spec *spec, vkf_measured_roofs *roofs,
                     vkf_bench_report *out_report);
void vkf_bench_end(vkf_bench *bench);

// A case is one part of one shape with one type.
size_t vkf_bench_case_count(const vkf_bench_options *options, const vkf_bench_spec *spec);
const vkf_bench_types *vkf_bench_case_types(const vkf_bench_options *options, const vkf_bench_spec *spec, size_t index);
vkf_status vkf_bench_run_case(vkf_bench *bench, const vkf_bench_spec *spec, size_t index);

static inline uint32_t vkf_bench_parts(const vkf_bench_spec *spec)
{
    return spec->parts > 0 ? spec->parts : 1;
}

extern const vkf_bench_spec vkf_bench_gemm;
extern const vkf_bench_spec vkf_bench_gemv;
extern const vkf_bench_spec vkf_bench_attention;
extern const vkf_bench_spec vkf_bench_mha;
extern const vkf_bench_spec vkf_bench_softmax;
extern const vkf_bench_spec vkf_bench_norm;
extern const vkf_bench_spec vkf_bench_permute;
extern const vkf_bench_spec vkf_bench_layer;
extern const vkf_bench_spec vkf_bench_backward;
extern const vkf_bench_spec vkf_bench_model;
extern const vkf_bench_spec vkf_bench_decode;
extern const vkf_bench_spec vkf_bench_train;
extern const vkf_bench_spec vkf_bench_copy;
extern const vkf_bench_spec vkf_bench_fma;
extern const vkf_bench_spec vkf_bench_cases;

#endif
