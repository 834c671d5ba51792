// Memory, tensors, and what operators are given.
#include "valid_parts.h"

void *valid_memory(void)
{
    static uint64_t memories[MEMORIES][MEMORY_BYTES / sizeof(uint64_t)];
    static unsigned turn;
    return memset(memories[turn++ % MEMORIES], 0, sizeof memories[0]);
}

size_t *valid_capacity(void)
{
    size_t *capacity = valid_memory();
    *capacity = 256;
    return capacity;
}

uint32_t *valid_capacity32(void)
{
    uint32_t *capacity = valid_memory();
    *capacity = 16;
    return capacity;
}

vkf_buffer *valid_foreign_buffer(void)
{
    return valid.foreign;
}

vkf_tensor valid_vkf_tensor(const char *function, const char *parameter)
{
    bool result = strcmp(parameter, "out") == 0;
    if (is(function, "_heads"))
        return result ? out(1, 2, 2, 4) : in(1, 2, 2, 4);
    if (is(function, "vkf_pack_weight") || is(function, "vkf_quantize_weight"))
        return in(32, 32, 0, 0);
    return result ? out(64, 0, 0, 0) : in(64, 0, 0, 0);
}

vkf_gemm_desc valid_vkf_gemm_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_gemm_desc){.a = in(LEN, DIM, 0, 0),
                           .b = in(DIM, DIM, 0, 0),
                           .c = in(LEN, DIM, 0, 0),
                           .bias = in(DIM, 0, 0, 0),
                           .residual = in(LEN, DIM, 0, 0),
                           .out = out(LEN, DIM, 0, 0),
                           .alpha = 1,
                           .beta = 1};
}

vkf_softmax_desc valid_vkf_softmax_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_softmax_desc){.x = in(BATCH, HEADS, LEN, LEN),
                              .out = out(BATCH, HEADS, LEN, LEN),
                              .mask_kind = VKF_MASK_ADDITIVE,
                              .mask = in(LEN, LEN, 0, 0),
                              .key_mask_kind = VKF_MASK_LENGTHS,
                              .key_mask = view(valid.in, VKF_DTYPE_I32, BATCH, 0, 0, 0)};
}

vkf_sdpa_desc valid_vkf_sdpa_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_sdpa_desc){.query = in(BATCH, HEADS, LEN, 8),
                           .key = in(BATCH, HEADS, LEN, 8),
                           .value = in(BATCH, HEADS, LEN, 8),
                           .out = out(BATCH, HEADS, LEN, 8),
                           .mask_kind = VKF_MASK_ADDITIVE,
                           .mask = in(LEN, LEN, 0, 0),
                           .key_mask_kind = VKF_MASK_LENGTHS,
                           .key_mask = view(valid.in, VKF_DTYPE_I32, BATCH, 0, 0, 0)};
}

vkf_layer_norm_desc valid_vkf_layer_norm_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_layer_norm_desc){.x = in(LEN, DIM, 0, 0),
                                 .weight = in(DIM, 0, 0, 0),
                                 .bias = in(DIM, 0, 0, 0),
                                 .residual = in(LEN, DIM, 0, 0),
                                 .out = out(LEN, DIM, 0, 0),
                                 .eps = 1e-5f,
                                 .residual_order = VKF_RESIDUAL_BEFORE};
}

vkf_embed_desc valid_vkf_embed_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_embed_desc){.ids = view(valid.in, VKF_DTYPE_I32, BATCH, LEN, 0, 0),
                            .table = in(8, DIM, 0, 0),
                            .positions = in(8, DIM, 0, 0),
                            .out = out(BATCH, LEN, DIM, 0)};
}

vkf_additive_scores_desc valid_vkf_additive_scores_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_additive_scores_desc){
        .query = in(1, 2, 8, 0), .key = in(1, 3, 8, 0), .v = in(8, 0, 0, 0), .out = out(1, 2, 3, 0)};
}

vkf_activate_desc valid_vkf_activate_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_activate_desc){.x = in(64, 0, 0, 0), .out = out(64, 0, 0, 0), .activation = VKF_ACTIVATION_ELU};
}

vkf_rotary_desc valid_vkf_rotary_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_rotary_desc){.x = in(BATCH, HEADS, LEN, 8),
                             .out = out(BATCH, HEADS, LEN, 8),
                             .table = in(LEN, 8, 0, 0),
                             .positions = view(valid.in, VKF_DTYPE_I32, BATCH, LEN, 0, 0)};
}

vkf_argmax_desc valid_vkf_argmax_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_argmax_desc){.x = in(2, 8, 0, 0), .out = view(valid.out, VKF_DTYPE_I32, 2, 0, 0, 0)};
}

vkf_concat_desc valid_vkf_concat_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    vkf_tensor *inputs = valid_memory();
    inputs[0] = in(2, 3, 0, 0);
    inputs[1] = in(2, 5, 0, 0);
    return (vkf_concat_desc){.inputs = inputs, .input_count = 2, .dim = 1, .out = out(2, 8, 0, 0)};
}

vkf_gather_desc valid_vkf_gather_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_gather_desc){
        .x = in(4, 8, 0, 0), .index = view(valid.in, VKF_DTYPE_I32, 2, 1, 0, 0), .out = out(2, 8, 0, 0)};
}

vkf_scatter_desc valid_vkf_scatter_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_scatter_desc){.x = in(4, 8, 0, 0),
                              .index = view(valid.in, VKF_DTYPE_I32, 2, 1, 0, 0),
                              .source = in(2, 8, 0, 0),
                              .out = out(4, 8, 0, 0)};
}

vkf_quantize_linear_desc valid_vkf_quantize_linear_desc(const char *function, const char *parameter)
{
    (void)parameter;
    const bool back = is(function, "vkf_dequantize_linear");
    return (vkf_quantize_linear_desc){.x = view(valid.in, back ? VKF_DTYPE_I8 : VKF_DTYPE_F32, LEN, DIM, 0, 0),
                                      .scale = in(DIM, 0, 0, 0),
                                      .zero = view(valid.in, VKF_DTYPE_I8, DIM, 0, 0, 0),
                                      .out = view(valid.out, back ? VKF_DTYPE_F32 : VKF_DTYPE_I8, LEN, DIM, 0, 0),
                                      .axis = 1};
}

vkf_gemm_int8_desc valid_vkf_gemm_int8_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_gemm_int8_desc){.a = view(valid.in, VKF_DTYPE_I8, LEN, DIM, 0, 0),
                                .b = view(valid.in, VKF_DTYPE_U8, DIM, DIM, 0, 0),
                                .a_zero = view(valid.in, VKF_DTYPE_I8, LEN, 0, 0, 0),
                                .b_zero = view(valid.in, VKF_DTYPE_U8, 1, 0, 0, 0),
                                .a_scale = in(1, 0, 0, 0),
                                .b_scale = in(DIM, 0, 0, 0),
                                .out_scale = in(1, 0, 0, 0),
                                .out_zero = view(valid.in, VKF_DTYPE_U8, 1, 0, 0, 0),
                                .out = view(valid.out, VKF_DTYPE_U8, LEN, DIM, 0, 0)};
}

vkf_measure_fma_desc valid_vkf_measure_fma_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_measure_fma_desc){.out = out(64, 0, 0, 0), .rounds = 1, .chains = VKF_MEASURE_FMA_MIN_CHAINS};
}
