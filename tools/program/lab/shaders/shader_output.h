// How `vkformer shaders` prints its reports on kernels and shaders.
#ifndef VKF_PROGRAM_SHADER_OUTPUT_H
#define VKF_PROGRAM_SHADER_OUTPUT_H

#include <stdbool.h>

#include <vkformer/vkformer.h>

#include "lab/shaders/chip_rates.h"
#include "output/rows.h"

typedef struct vkf_shader_output {
    vkf_rows rows;           // the format is set by the option
    bool statistics;         // show the compiler's statistics
    bool raw;                // also show them below each row, under the driver's names; JSON always has them
    bool assembly;           // also show the driver's representations
    bool loops;              // show the hot loops in the assembly; in tables, instead of the statistics
    const chip_rates *rates; // of the chip that these are judged for; NULL: by the device's name
    bool all;                // also list variants that the device cannot use
    bool defaults;           // list only variants that are taken for some problem without measurement
    vkf_device_info device;
    uint32_t listed;
    uint32_t failed;     // how many did not compile
    uint32_t assemblies; // how many there were
    bool printed;        // anything so far
} vkf_shader_output;

void vkf_shader_output_begin(vkf_shader_output *output, const vkf_context *context);
// A vkf_kernel_report_fn; `user` is the output.
bool vkf_shader_output_visit(void *user, const vkf_kernel_report *report);
// Prints the rest. On stderr, says what did not compile and where the driver gives no assembly. False when printing
// failed or something did not compile.
bool vkf_shader_output_end(vkf_shader_output *output);

#endif
