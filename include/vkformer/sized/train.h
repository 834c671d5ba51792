// What the inline functions of <vkformer/train.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_TRAIN_H
#define VKFORMER_SIZED_TRAIN_H

#include <vkformer/train.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_create_sized(vkf_model *model, const vkf_trainer_desc *desc,
                                                           size_t desc_bytes, vkf_trainer **out_trainer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_create(vkf_model *model, const vkf_trainer_desc *desc,
                                                        vkf_trainer **out_trainer)
{
    return vkf_trainer_create_sized(model, desc, sizeof *desc, out_trainer);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_plan_sized(vkf_model *model, const vkf_trainer_desc *desc,
                                                         size_t desc_bytes, vkf_memory_plan *out_plan,
                                                         size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_plan(vkf_model *model, const vkf_trainer_desc *desc,
                                                      vkf_memory_plan *out_plan)
{
    return vkf_trainer_plan_sized(model, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

// `batch_bytes` is the size of one element of `batches`.
VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_step_sized(vkf_trainer *trainer, const vkf_train_batch *batches,
                                                         size_t batch_bytes, uint32_t batch_count,
                                                         vkf_train_result *out_result, size_t result_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_step(vkf_trainer *trainer, const vkf_train_batch *batches,
                                                      uint32_t batch_count, vkf_train_result *out_result)
{
    return vkf_trainer_step_sized(trainer, batches, sizeof *batches, batch_count, out_result, sizeof *out_result);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_evaluate_sized(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                             size_t batch_bytes, vkf_train_result *out_result,
                                                             size_t result_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_evaluate(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                          vkf_train_result *out_result)
{
    return vkf_trainer_evaluate_sized(trainer, batch, sizeof *batch, out_result, sizeof *out_result);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_trainer_compute_gradient_sized(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                                     size_t batch_bytes, uint32_t index,
                                                                     float *out_gradient);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_trainer_compute_gradient(vkf_trainer *trainer, const vkf_train_batch *batch,
                                                                  uint32_t index, float *out_gradient)
{
    return vkf_trainer_compute_gradient_sized(trainer, batch, sizeof *batch, index, out_gradient);
}

VKF_API bool vkf_trainer_get_parameter_sized(const vkf_trainer *trainer, uint32_t index,
                                             vkf_train_parameter *out_parameter, size_t parameter_bytes);
VKF_INLINE bool vkf_trainer_get_parameter(const vkf_trainer *trainer, uint32_t index,
                                          vkf_train_parameter *out_parameter)
{
    return vkf_trainer_get_parameter_sized(trainer, index, out_parameter, sizeof *out_parameter);
}

VKF_API void vkf_trainer_get_info_sized(const vkf_trainer *trainer, vkf_trainer_info *out_info, size_t info_bytes);
VKF_INLINE void vkf_trainer_get_info(const vkf_trainer *trainer, vkf_trainer_info *out_info)
{
    vkf_trainer_get_info_sized(trainer, out_info, sizeof *out_info);
}

VKF_API void vkf_trainer_get_progress_sized(const vkf_trainer *trainer, vkf_train_progress *out_progress,
                                            size_t progress_bytes);
VKF_INLINE void vkf_trainer_get_progress(const vkf_trainer *trainer, vkf_train_progress *out_progress)
{
    vkf_trainer_get_progress_sized(trainer, out_progress, sizeof *out_progress);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_train_progress_read_sized(vkf_context *context, const char *directory,
                                                                vkf_train_progress *out_progress,
                                                                size_t progress_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_train_progress_read(vkf_context *context, const char *directory,
                                                             vkf_train_progress *out_progress)
{
    return vkf_train_progress_read_sized(context, directory, out_progress, sizeof *out_progress);
}

#ifdef __cplusplus
}
#endif
#endif
