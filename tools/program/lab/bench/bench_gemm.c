// vkformer bench gemm: out (m, n) = a (m, k) b (k, n). And gemv: the same for a few rows and a Linear's weight.
#include <string.h>

#include "base/elements.h"
#include "lab/bench/bench.h"
#include "lab/bench/bench_operator.h"
#include "output/json_output.h"

static vkf_status call_gemm(vkf_context *context, const void *desc)
{
    return vkf_gemm(context, desc);
}

// How b is stored: (k, n), or a Linear's weight (n, k), in rows or in panels.
typedef enum b_kind { B_KN, B_NK, B_PANELS } b_kind;

// "best" is the layout that a layer would choose for the weight on this device.
static b_kind choose_kind(const vkf_bench *bench, const vkf_bench_types *types, const uint32_t *values, bool linear)
{
    const vkf_bench_settings *settings = &bench->options->settings;
    bool best = strcmp(settings->weights, "best") == 0;
    bool packed = strcmp(settings->weights, "packed") == 0;
    if (best)
        packed = vkf_context_get_preferred_layout(bench->context, types->activations, types->weights, values[1],
                                                  values[2]) == VKF_LAYOUT_PANELS;
    if (packed || vkf__is_blocks(types->weights))
        return B_PANELS;
    return best || linear || settings->transpose_b ? B_NK : B_KN;
}

static json_t *shape_of(uint32_t m, uint32_t n, uint32_t k, b_kind kind)
{
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "m", m);
    vkf_json_put_integer(shape, "n", n);
    vkf_json_put_integer(shape, "k", k);
    vkf_json_put_string(shape, "weights", kind == B_PANELS ? "packed" : kind == B_NK ? "nk" : "kn");
    return shape;
}

static vkf_tensor make_b(vkf_bench_data *data, uint32_t n, uint32_t k, b_kind kind)
{
    if (vkf__is_blocks(data->types.weights))
        return vkf_bench_blocks(data, n, k);
    if (kind == B_KN)
        return vkf_bench_matrix(data, k, n, k);
    vkf_tensor rows = vkf_bench_linear(data, n, k), packed = {0};
    if (kind == B_NK || data->status != VKF_OK)
        return rows;
    data->status = vkf_pack_weight(data->context, &rows, "bench packed", &packed);
    // The panels replace the rows.
    if (data->status == VKF_OK) {
        data->count--;
        vkf_tensor_destroy(&rows);
        data->tensors[data->count++] = packed;
    }
    return packed;
}

// values: m, n, k.
static vkf_status measure(vkf_bench *bench, const char *op, const vkf_bench_types *types, const uint32_t *values,
                          bool linear)
{
    const uint32_t m = values[0], n = values[1], k = values[2];
    const uint32_t a_shape[] = {m, k}, out_shape[] = {m, n};
    const b_kind kind = choose_kind(bench, types, values, linear);
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    const vkf_gemm_desc desc = {
        .b = make_b(&data, n, k, kind),
        .a = vkf_bench_random(&data, 2, a_shape),
        .out = vkf_bench_random(&data, 2, out_shape),
        .transpose_b = kind != B_KN,
        .alpha = 1.0f,
    };
    vkf_bench_case bench_case = {
        .op = op,
        .shape = shape_of(m, n, k, kind),
        .types = *types,
        .cost =
            {
                .flops = 2.0 * m * n * k,
                .bytes_read = vkf_bench_bytes((double)m * k, types->activations) + data.weight_bytes,
                .bytes_written = vkf_bench_bytes((double)m * n, types->activations),
            },
    };
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_gemm, &desc);
}

static vkf_status run_gemm(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    return measure(bench, "gemm", types, shape->values, false);
}

static vkf_status run_gemv(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    return measure(bench, "gemv", types, shape->values, true);
}

static bool check_gemm(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    static const char *const known[] = {"best", "packed", "rows"};
    (void)shape;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(options->settings.weights, known[i]) == 0)
            return true;
    }
    vkf_print_error("--weights: '%.200s' is none of best, packed and rows", options->settings.weights);
    return false;
}

// The second setting is for gemm alone.
static const vkf_option settings_table[] = {
    VKF_OPTION(vkf_bench_settings, "weights", TEXT, weights),
    VKF_OPTION(vkf_bench_settings, "transpose-b", FLAG, transpose_b),
};

#define WEIGHTS_HELP                                                                                         \
    "  --weights HOW      how they are stored: best (default), as a layer would have them on this device;\n" \
    "                     packed, in panels; or rows\n"

#define MAX_EXTENT (1u << 24)

const vkf_bench_spec vkf_bench_gemm = {
    .name = "gemm",
    .summary = "matrix product",
    .help = "Measures out (M, N) = a (M, K) b (K, N) as one call of vkf_gemm(). b counts as the weights.\n"
            "\n" WEIGHTS_HELP "  --transpose-b      rows are (N, K), as PyTorch keeps Linear weights; else (K, N)\n",
    .extents = {.list = {{'M', "m", MAX_EXTENT, 0, 0}, {'N', "n", MAX_EXTENT, 0, 0}, {'K', "k", MAX_EXTENT, 0, 0}},
                .count = 3,
                .forms = {"MNK"}},
    .settings = settings_table,
    .setting_count = 2,
    .mixed_types = true,
    .block_types = true,
    .check = check_gemm,
    .run = run_gemm,
};

const vkf_bench_spec vkf_bench_gemv = {
    .name = "gemv",
    .summary = "one to eight rows times a Linear's weight",
    .help =
        "Measures out (M, N) = a (M, K) b^T with b stored (N, K), as a Linear layer has it while it generates token\n"
        "after token: one to eight rows.\n",
    .extents = {.list = {{'M', "m", 8, 1, 0}, {'N', "n", MAX_EXTENT, 0, 0}, {'K', "k", MAX_EXTENT, 0, 0}},
                .count = 3,
                .forms = {"NK", "MNK"}},
    .settings = settings_table,
    .setting_count = 1,
    .mixed_types = true,
    .block_types = true,
    .check = check_gemm,
    .run = run_gemv,
};
