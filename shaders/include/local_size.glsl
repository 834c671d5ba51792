// The workgroup's size by a name, for the lengths of arrays. MoltenVK translates SPIR-V with SPIRV-Cross, which makes
// Metal's function constants of specialisation constants. Metal refuses these in the length of an array, so what
// lengths are made of becomes macros instead. Before August 2025 SPIRV-Cross did not see the constant that stands
// behind gl_WorkGroupSize (its issue 2511), and a kernel with an array of that length had no pipeline. Included after
// include/grid.glsl, by kernels alone that have such an array: versions before February 2023 make two function
// constants of one number out of a second constant that no length needs, and Metal refuses these, too.
#ifndef VKF_LOCAL_SIZE_GLSL
#define VKF_LOCAL_SIZE_GLSL

layout(constant_id = VKF_SPEC_LOCAL_SIZE) const uint LOCAL_SIZE = 64; // the same number as grid.glsl has

#endif
