// The benchmarks: what each of them is, and what they have in common while they run.
#ifndef VKF_PROGRAM_BENCH_H
#define VKF_PROGRAM_BENCH_H

#include "bench/bench_options.h"
#include "bench/bench_report.h"

// One run of the program. Results and messages go out as they come.
typedef struct vkf_bench {
    const vkf_bench_options *options;
    vkf_context *context;
    vkf_bench_report *report;
    struct vkf_bench_pair *pair; // that this is a half of, see bench_pair.h; NULL: of none
    bool (*stopped)(void);       // asked between repetitions; NULL: never
    uint32_t part;               // of the benchmark's parts, which runs
    vkf_model *model;            // of the last shape, for the next one; NULL: none
    vkf_model_precision model_precision;
} vkf_bench;

struct vkf_bench_spec {
    const char *name;
    const char *summary; // one line
    const char *help;    // what is measured, and the options of its own
    vkf_bench_extents extents;
    const vkf_bench_setting *settings;
    uint32_t setting_count;
    bool f32_alone;       // --types has no meaning
    bool mixed_types;     // weights in 16 bits under f32 activations
    bool block_types;     // weights in blocks, too
    bool takes_directory; // an argument that is no shape is a model's directory
    bool tokens;          // results have times of the host and tokens per second
    uint32_t parts;       // results of a shape, each from a run of its own; 0: one
    // Whether a shape makes sense; false after a message. NULL: every one does.
    bool (*check)(const vkf_bench_options *options, const vkf_bench_shape *shape);
    // Measures one part of a shape. Failures have been printed.
    vkf_status (*run)(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape);
};

// Opens the context, measures its roofs unless the options say no, and begins the report. False after a message;
// vkf_bench_end() in either case.
bool vkf_bench_begin(vkf_bench *bench, const vkf_bench_spec *spec, vkf_roofs *roofs, vkf_bench_report *out_report);
void vkf_bench_end(vkf_bench *bench);

// The cases: every part of every shape with every type.
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
extern const vkf_bench_spec vkf_bench_model;
extern const vkf_bench_spec vkf_bench_decode;
extern const vkf_bench_spec vkf_bench_copy;
extern const vkf_bench_spec vkf_bench_fma;

#endif
