// What the inline functions of <vkformer/model.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_MODEL_H
#define VKFORMER_SIZED_MODEL_H

#include <vkformer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_model_load_sized(vkf_context *context, const vkf_model_desc *desc,
                                                       size_t desc_bytes, vkf_model **out_model);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_load(vkf_context *context, const vkf_model_desc *desc,
                                                    vkf_model **out_model)
{
    return vkf_model_load_sized(context, desc, sizeof *desc, out_model);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_model_plan_sized(vkf_context *context, const vkf_model_desc *desc,
                                                       size_t desc_bytes, vkf_memory_plan *out_plan, size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan(vkf_context *context, const vkf_model_desc *desc,
                                                    vkf_memory_plan *out_plan)
{
    return vkf_model_plan_sized(context, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_model_plan_config_sized(vkf_context *context, const vkf_model_desc *desc,
                                                              size_t desc_bytes, vkf_model_config *out_config,
                                                              vkf_model_precision *out_precision);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan_config(vkf_context *context, const vkf_model_desc *desc,
                                                           vkf_model_config *out_config,
                                                           vkf_model_precision *out_precision)
{
    return vkf_model_plan_config_sized(context, desc, sizeof *desc, out_config, out_precision);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_create_sized(vkf_model *model, const vkf_session_desc *desc,
                                                           size_t desc_bytes, vkf_session **out_session);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_create(vkf_model *model, const vkf_session_desc *desc,
                                                        vkf_session **out_session)
{
    return vkf_session_create_sized(model, desc, sizeof *desc, out_session);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_plan_sized(vkf_model *model, const vkf_session_desc *desc,
                                                         size_t desc_bytes, vkf_memory_plan *out_plan,
                                                         size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_plan(vkf_model *model, const vkf_session_desc *desc,
                                                      vkf_memory_plan *out_plan)
{
    return vkf_session_plan_sized(model, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_model_plan_session_sized(vkf_context *context, const vkf_model_desc *desc,
                                                               size_t desc_bytes, const vkf_session_desc *session,
                                                               size_t session_bytes, vkf_memory_plan *out_plan,
                                                               size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan_session(vkf_context *context, const vkf_model_desc *desc,
                                                            const vkf_session_desc *session, vkf_memory_plan *out_plan)
{
    return vkf_model_plan_session_sized(context, desc, sizeof *desc, session, sizeof *session, out_plan,
                                        sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_encode_sized(vkf_session *session, const vkf_encode_args *args,
                                                           size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_encode(vkf_session *session, const vkf_encode_args *args)
{
    return vkf_session_encode_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_decode_sized(vkf_session *session, const vkf_decode_args *args,
                                                           size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_decode(vkf_session *session, const vkf_decode_args *args)
{
    return vkf_session_decode_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_greedy_sized(vkf_session *session, const vkf_greedy_args *args,
                                                           size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_greedy(vkf_session *session, const vkf_greedy_args *args)
{
    return vkf_session_greedy_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_generate_sized(vkf_session *session, const vkf_generate_args *args,
                                                             size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_generate(vkf_session *session, const vkf_generate_args *args)
{
    return vkf_session_generate_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_generation_begin_sized(vkf_session *session, const vkf_generate_args *args,
                                                             size_t args_bytes, vkf_generation **out_generation);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generation_begin(vkf_session *session, const vkf_generate_args *args,
                                                          vkf_generation **out_generation)
{
    return vkf_generation_begin_sized(session, args, sizeof *args, out_generation);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_generation_submit_sized(vkf_session *session, const vkf_generate_args *args,
                                                              size_t args_bytes, vkf_generation **out_generation);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generation_submit(vkf_session *session, const vkf_generate_args *args,
                                                           vkf_generation **out_generation)
{
    return vkf_generation_submit_sized(session, args, sizeof *args, out_generation);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_get_timings_sized(vkf_session *session, uint32_t *inout_count,
                                                                vkf_timing *out_timings, size_t timing_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_get_timings(vkf_session *session, uint32_t *inout_count,
                                                             vkf_timing *out_timings)
{
    return vkf_session_get_timings_sized(session, inout_count, out_timings, sizeof *out_timings);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_get_run_cost_sized(const vkf_session *session, vkf_run_cost *out_cost,
                                                                 size_t cost_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_get_run_cost(const vkf_session *session, vkf_run_cost *out_cost)
{
    return vkf_session_get_run_cost_sized(session, out_cost, sizeof *out_cost);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_prefill_sized(vkf_session *session, const vkf_prefill_args *args,
                                                            size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_prefill(vkf_session *session, const vkf_prefill_args *args)
{
    return vkf_session_prefill_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_step_sized(vkf_session *session, const vkf_step_args *args,
                                                         size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_step(vkf_session *session, const vkf_step_args *args)
{
    return vkf_session_step_sized(session, args, sizeof *args);
}

#ifdef __cplusplus
}
#endif
#endif
