// What the driver's compiler made of the kernels, or of a shader that is not the library's: registers, spills and
// occupancy.
//
// Every driver has statistics of its own under names of its own. They are given as they are, and also as numbers that
// mean the same for all drivers where that is possible: docs/shaders.md says which drivers tell what. Drivers without
// VK_KHR_pipeline_executable_properties, lavapipe among them, leave these numbers unknown.
#ifndef VKFORMER_KERNELS_H
#define VKFORMER_KERNELS_H

#include <vkformer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VKF_STATISTIC_NAME_SIZE 64

// A statistic under the driver's name for it; a longer name is cut. Integers beyond 2^53 are rounded; only hashes are
// that large.
typedef struct vkf_statistic {
    char name[VKF_STATISTIC_NAME_SIZE];
    double value;
} vkf_statistic;

#define VKF_STATISTIC_UNKNOWN (-1)

// Numbers with the same meaning for every driver; VKF_STATISTIC_UNKNOWN where a driver does not tell.
typedef struct vkf_kernel_statistics {
    int64_t registers;     // of 32 bits, per invocation
    int64_t spills;        // values, or instructions, that go to memory for want of registers
    int64_t inner_spills;  // scalar or uniform values that go to registers of another kind: nearly harmless
    int64_t scratch_bytes; // of memory per invocation, spills included
    int64_t shared_bytes;  // per workgroup; where the driver does not tell, what the kernel asks for
    int64_t instructions;
    int64_t code_bytes;
    int64_t waves; // subgroups that a unit of the device can hold at the same time; its size is the device's own
} vkf_kernel_statistics;

// One of the forms that a shader takes on its way through the driver's compiler: its own code, or the machine's.
typedef struct vkf_representation {
    char executable[VKF_STATISTIC_NAME_SIZE]; // what it is part of: "Compute Shader"
    char name[VKF_STATISTIC_NAME_SIZE];       // "Assembly"
    bool is_text;
    const char *data; // a text ends with a zero, which is not counted
    size_t size_bytes;
} vkf_representation;

// A kernel with one choice of its tile parameters and with typical other constants. Pointers are valid during the call.
typedef struct vkf_kernel_report {
    const char *kernel;    // "gemm_tile.f32_f32_f32"
    const char *config;    // "large"
    const char *constants; // what else it was compiled for: "head_dim 64"; "" where there is nothing to choose
    // Typical problems for which it is taken unmeasured, separated by ", "; those with " (f16)" only under
    // VKF_PRECISION_F16 and what permits more, those with " (f16-sums)" only under VKF_PRECISION_F16_SUMS. "" for none.
    const char *default_for;
    bool usable;          // on this device
    const char *why;      // usable or not
    bool compiled;        // a pipeline was made
    vkf_status status;    // of making it; VKF_OK where that was not asked for
    uint32_t spirv_bytes; // of the module that was compiled, or else of the one in this build; 0: it has none
    bool has_statistics;
    vkf_kernel_statistics statistics;
    const vkf_statistic *raw;
    uint32_t raw_count;
    const vkf_representation *representations; // in a context with `pipeline_representations`, where the driver has any
    uint32_t representation_count;
} vkf_kernel_report;

// Which of the visited variants are compiled.
typedef enum vkf_kernel_compile {
    VKF_COMPILE_NONE = 0,
    VKF_COMPILE_ALL,      // all that the device may use
    VKF_COMPILE_DEFAULTS, // those among them that are taken for some typical problem: `default_for` is not ""
} vkf_kernel_compile;

// Returns false to end the visit, which gives VKF_ERROR_CANCELLED.
typedef bool (*vkf_kernel_report_fn)(void *user, const vkf_kernel_report *report);

// Visits every variant whose "kernel/config" begins with `name` (NULL: all), in the registry's order. An attention
// kernel is visited once for each of the usual sizes of a head. Pipelines are made of the variants that `compile`
// selects, and their statistics are read in a context with `pipeline_statistics`. A variant that fails to compile is
// reported as such, and the visit goes on.
// Statuses: INVALID_ARGUMENT, CANCELLED, OUT_OF_HOST_MEMORY, DEVICE_LOST.
VKF_API VKF_MUST_CHECK vkf_status vkf_context_report_kernels(vkf_context *context, const char *name,
                                                             vkf_kernel_compile compile, vkf_kernel_report_fn visit,
                                                             void *user);

#define VKF_SHADER_MAX_BINDINGS 64
#define VKF_SHADER_MAX_CONSTANTS 64

// One binding of a shader's interface.
typedef struct vkf_shader_binding {
    uint32_t set;
    uint32_t binding;
    uint32_t descriptor_type; // a VkDescriptorType
    uint32_t count;           // of an array, else 1
} vkf_shader_binding;

typedef struct vkf_shader_constant {
    uint32_t id;
    uint32_t size_bytes; // of its type, 4 for bool
    uint64_t value;      // its first size_bytes bytes are used
} vkf_shader_constant;

// A compute shader of the caller's. The module has to be valid: drivers trust it.
typedef struct vkf_shader_desc {
    const char *name;      // for messages and the report
    const char *constants; // of the report; NULL: ""
    const uint32_t *words; // SPIR-V in the host's byte order
    size_t word_count;
    const char *entry_point; // NULL: "main"
    const vkf_shader_binding *bindings;
    uint32_t binding_count; // at most VKF_SHADER_MAX_BINDINGS
    uint32_t push_bytes;
    const vkf_shader_constant *spec;
    uint32_t spec_count; // at most VKF_SHADER_MAX_CONSTANTS
} vkf_shader_desc;

// Whether a shader may declare this capability, by its number in SPIR-V, in this context.
VKF_API bool vkf_context_takes_capability(const vkf_context *context, uint32_t capability);

// Compiles the shader into a pipeline that is not kept, and visits it once; nothing is run. A shader that does not
// compile is reported as in vkf_context_report_kernels(). `config` and `default_for` are empty.
// Statuses: INVALID_ARGUMENT, UNSUPPORTED (a capability, or more of anything than the device takes),
// CANCELLED, OUT_OF_HOST_MEMORY, DEVICE_LOST.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_context_report_shader(vkf_context *context, const vkf_shader_desc *desc,
                                                               vkf_kernel_report_fn visit, void *user);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/kernels.h>

#endif
