// vkformer bench softmax, norm and permute: operators that pass over their operands once.
#include "lab/bench/bench.h"
#include "lab/bench/bench_operator.h"
#include "output/json_output.h"

static vkf_status call_softmax(vkf_context *context, const void *desc)
{
    return vkf_softmax(context, desc);
}

static vkf_status run_softmax(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const uint32_t *extents = shape->values;
    double bytes = vkf_bench_bytes((double)extents[0] * extents[1], types->activations);
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    const vkf_softmax_desc desc = {
        .x = vkf_bench_random(&data, 2, extents),
        .out = vkf_bench_random(&data, 2, extents),
    };
    vkf_bench_case bench_case = {
        .op = "softmax",
        .shape = json_object(),
        .types = *types,
        .cost = {.bytes_read = bytes, .bytes_written = bytes},
    };
    vkf_json_put_integer(bench_case.shape, "rows", extents[0]);
    vkf_json_put_integer(bench_case.shape, "cols", extents[1]);
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_softmax, &desc);
}

static vkf_status call_norm(vkf_context *context, const void *desc)
{
    return vkf_layer_norm(context, desc);
}

static vkf_status run_norm(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    const uint32_t *extents = shape->values;
    bool residual = bench->options->settings.residual;
    double bytes = vkf_bench_bytes((double)extents[0] * extents[1], types->activations);
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    vkf_layer_norm_desc desc = {
        .x = vkf_bench_random(&data, 2, extents),
        .weight = vkf_bench_vector(&data, extents[1], 1.0f),
        .bias = vkf_bench_vector(&data, extents[1], 0.1f),
        .out = vkf_bench_random(&data, 2, extents),
        .eps = 1e-5f,
    };
    if (residual) {
        desc.residual = vkf_bench_random(&data, 2, extents);
        desc.residual_order = VKF_RESIDUAL_BEFORE;
    }
    vkf_bench_case bench_case = {
        .op = "norm",
        .shape = json_object(),
        .types = *types,
        .cost = {.bytes_read = bytes * (residual ? 2 : 1) + data.weight_bytes, .bytes_written = bytes},
    };
    vkf_json_put_integer(bench_case.shape, "rows", extents[0]);
    vkf_json_put_integer(bench_case.shape, "dim", extents[1]);
    json_object_set_new(bench_case.shape, "residual", json_boolean(residual));
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_norm, &desc);
}

typedef struct permute_desc {
    vkf_tensor x, out;
    bool merge;
} permute_desc;

static vkf_status call_permute(vkf_context *context, const void *user)
{
    const permute_desc *desc = user;
    return desc->merge ? vkf_merge_heads(context, &desc->x, &desc->out)
                       : vkf_split_heads(context, &desc->x, &desc->out);
}

static vkf_status run_permute(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    static const char *const names[] = {"batch", "len", "heads", "head_dim"};
    const uint32_t *e = shape->values;
    const uint32_t apart[] = {e[0], e[2], e[1], e[3]}; // (B, H, L, D)
    bool merge = bench->options->settings.merge;
    double bytes = vkf_bench_bytes((double)e[0] * e[1] * e[2] * e[3], types->activations);
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    const permute_desc desc = {
        .x = vkf_bench_random(&data, 4, merge ? apart : e),
        .out = vkf_bench_random(&data, 4, merge ? e : apart),
        .merge = merge,
    };
    vkf_bench_case bench_case = {
        .op = "permute",
        .shape = json_object(),
        .types = *types,
        .cost = {.bytes_read = bytes, .bytes_written = bytes},
    };
    for (size_t i = 0; i < 4; i++)
        vkf_json_put_integer(bench_case.shape, names[i], e[i]);
    json_object_set_new(bench_case.shape, "merge", json_boolean(merge));
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_permute, &desc);
}

const vkf_bench_spec vkf_bench_softmax = {
    .name = "softmax",
    .summary = "softmax over rows",
    .help = "Measures vkf_softmax() over R rows of C columns, without masks.\n",
    .extents = {.list = {{'R', "rows", 1u << 28, 0, 0}, {'C', "cols", 1u << 28, 0, 0}}, .count = 2, .forms = {"RC"}},
    .run = run_softmax,
};

static const vkf_option norm_settings[] = {
    VKF_OPTION(vkf_bench_settings, "residual", FLAG, residual),
};

const vkf_bench_spec vkf_bench_norm = {
    .name = "norm",
    .summary = "layer norm over rows",
    .help = "Measures vkf_layer_norm() over R rows of D elements, with weight and bias.\n"
            "\n"
            "  --residual         of the sum with a residual\n",
    .extents = {.list = {{'R', "rows", 1u << 28, 0, 0}, {'D', "dim", 1u << 24, 0, 0}}, .count = 2, .forms = {"RD"}},
    .settings = norm_settings,
    .setting_count = sizeof norm_settings / sizeof norm_settings[0],
    .mixed_types = true,
    .run = run_norm,
};

static const vkf_option permute_settings[] = {
    VKF_OPTION(vkf_bench_settings, "merge", FLAG, merge),
};

const vkf_bench_spec vkf_bench_permute = {
    .name = "permute",
    .summary = "splitting and merging heads",
    .help = "Measures vkf_split_heads(), (B, L, H, D) to (B, H, L, D).\n"
            "\n"
            "  --merge            vkf_merge_heads(), the way back\n",
    .extents = {.list = {{'B', "batch", 1u << 16, 1, 0},
                         {'L', "len", 1u << 20, 0, 0},
                         {'H', "heads", 1u << 12, 0, 0},
                         {'D', "head-dim", 1u << 12, 0, 0}},
                .count = 4,
                .forms = {"BLHD", "LHD"}},
    .settings = permute_settings,
    .setting_count = sizeof permute_settings / sizeof permute_settings[0],
    .run = run_permute,
};
