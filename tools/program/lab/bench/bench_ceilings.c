// vkformer bench copy and fma: the roofs of the device themselves, measured run by run.
#include "lab/bench/bench.h"
#include "lab/bench/bench_operator.h"
#include "output/json_output.h"

typedef struct copy_desc {
    vkf_tensor x, out;
    bool read;
} copy_desc;

static vkf_status call_copy(vkf_context *context, const void *user)
{
    const copy_desc *desc = user;
    return desc->read ? vkf_measure_read(context, &desc->x, &desc->out)
                      : vkf_measure_copy(context, &desc->x, &desc->out);
}

// A tensor of zeros, which the reading kernel requires.
static vkf_tensor zeros(vkf_bench_data *data, uint32_t rank, const uint32_t *shape)
{
    vkf_tensor tensor = {0};
    if (data->status == VKF_OK)
        data->status = vkf_tensor_create(data->context, VKF_DTYPE_F32, rank, shape, "bench", &tensor);
    if (data->status == VKF_OK)
        data->tensors[data->count++] = tensor;
    return tensor;
}

static vkf_status run_one_copy(vkf_bench *bench, const vkf_bench_types *types, uint32_t mib, bool read)
{
    const uint32_t shape[] = {mib, 1u << 18}, few = 4;
    double bytes = (double)mib * (1u << 20);
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    copy_desc desc = {.x = zeros(&data, 2, shape), .read = read};
    desc.out = read ? zeros(&data, 1, &few) : zeros(&data, 2, shape);
    vkf_bench_case bench_case = {
        .op = read ? "read" : "copy",
        .shape = json_object(),
        .types = *types,
        .cost = {.bytes_read = bytes, .bytes_written = read ? 0 : bytes},
    };
    vkf_json_put_integer(bench_case.shape, "mib", mib);
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_copy, &desc);
}

static vkf_status run_copy(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    return run_one_copy(bench, types, shape->values[0], bench->part == 1);
}

static vkf_status call_fma(vkf_context *context, const void *desc)
{
    return vkf_measure_fma(context, desc);
}

static vkf_status run_fma(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    vkf_bench_data data = vkf_bench_data_begin(bench->context, types);
    const vkf_measure_fma_desc desc = {
        .out = zeros(&data, 1, &shape->values[0]),
        .rounds = shape->values[1],
        .chains = shape->values[2],
    };
    vkf_bench_case bench_case = {
        .op = "fma",
        .shape = json_object(),
        .types = *types,
        .cost = {.flops = vkf_measure_fma_flops(&desc),
                 .bytes_written = vkf_bench_bytes(shape->values[0], VKF_DTYPE_F32)},
    };
    vkf_json_put_integer(bench_case.shape, "invocations", shape->values[0]);
    vkf_json_put_integer(bench_case.shape, "rounds", shape->values[1]);
    vkf_json_put_integer(bench_case.shape, "chains", shape->values[2]);
    return vkf_bench_measure_operator(bench, &data, &bench_case, call_fma, &desc);
}

static bool check_fma(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    (void)options;
    if (shape->values[2] >= VKF_MEASURE_FMA_MIN_CHAINS)
        return true;
    vkf_print_error("--chains: %u is below %d", shape->values[2], VKF_MEASURE_FMA_MIN_CHAINS);
    return false;
}

const vkf_bench_spec vkf_bench_copy = {
    .name = "copy",
    .summary = "memory bandwidth",
    .help = "Measures copying a buffer of N MiB to another one, bytes read and written counted, and reading it.\n",
    .extents = {.list = {{'N', "mib", 1u << 14, 128, 0}}, .count = 1, .forms = {"N"}},
    .f32_activations = true,
    .parts = 2,
    .run = run_copy,
};

const vkf_bench_spec vkf_bench_fma = {
    .name = "fma",
    .summary = "f32 arithmetic in registers",
    .help = "Measures I invocations of 8 * R multiply-adds on each of 4 * C independent accumulators, C from 2 to 4.\n"
            "The roof is the best of C = 2, 3 and 4.\n",
    .extents = {.list = {{'I', "invocations", 1u << 28, 1u << 18, 0},
                         {'R', "rounds", VKF_MEASURE_FMA_MAX_ROUNDS, 64, 0},
                         {'C', "chains", VKF_MEASURE_FMA_MAX_CHAINS, 3, 0}},
                .count = 3,
                .forms = {"IRC"}},
    .f32_activations = true,
    .check = check_fma,
    .run = run_fma,
};
