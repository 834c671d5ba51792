// Which kernels a benchmark takes in a context, and whether another context makes them from the same code.
#ifndef VKF_PROGRAM_BENCH_CODE_H
#define VKF_PROGRAM_BENCH_CODE_H

#include <jansson.h>

#include <vkformer/vkformer.h>

// From here on, taken kernels are recorded. Nothing else may run in the context meanwhile.
void vkf_bench_code_begin(vkf_context *context);

// A new array of the kernels that were taken, such as "softmax.f32_f32/row64"; NULL when memory is exhausted.
json_t *vkf_bench_code_taken(const vkf_context *context);

// A new array of those taken kernels that are embedded in the build, whatever the folder of shaders has.
json_t *vkf_bench_code_embedded(const vkf_context *context);

// Whether every kernel taken in either context is made from the same SPIR-V in both.
bool vkf_bench_code_same(const vkf_context *old, const vkf_context *edited);

// A new array of the kernels that the self-test refuses in the second context but not in the first; empty: none.
json_t *vkf_bench_code_refused(const vkf_context *old, const vkf_context *edited);

#endif
