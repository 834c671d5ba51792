# The modules that old compilers cannot build. Where a build's compiler knows what they NEED it builds them; elsewhere
# the SPIR-V beside this file is taken, which tools/prebuild-shaders makes. gemm_coopmat2_element runs where
# cooperative matrices have flexible dimensions but no tensor addressing.

vkf_add_shader(gemm/gemm_coopmat PARAMETERS A B D TYPES f32,f16,f32 f16,f16,f32 f16,f16,f16 f32,f16,f16
    NEEDS GL_KHR_cooperative_matrix)
vkf_add_shader(gemm/gemm_coopmat PARAMETERS A B D TYPES f32,bf16,f32 NEEDS GL_KHR_cooperative_matrix GL_EXT_bfloat16)
vkf_add_shader(gemm/gemm_coopmat_half SOURCE gemm_coopmat.comp PARAMETERS A B D
    TYPES f32,f16,f32 f16,f16,f32 f16,f16,f16 DEFINES HALF_SUMS=1 NEEDS GL_KHR_cooperative_matrix)
vkf_add_shader(gemm/gemm_coopmat_blocks SOURCE gemm_coopmat.comp PARAMETERS A D TYPES f32,f32 f16,f32 f16,f16
    DEFINES B_BLOCKS=1 NEEDS GL_KHR_cooperative_matrix)
vkf_add_shader(gemm/gemm_coopmat2 PARAMETERS A B D TYPES f32,f16,f32 f16,f16,f32 f16,f16,f16 f32,f16,f16
    DEFINES TENSOR_ADDRESSING=1 NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
vkf_add_shader(gemm/gemm_coopmat2_half SOURCE gemm_coopmat2.comp PARAMETERS A B D
    TYPES f32,f16,f32 f16,f16,f32 f16,f16,f16 DEFINES TENSOR_ADDRESSING=1 HALF_SUMS=1
    NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
vkf_add_shader(gemm/gemm_coopmat2_blocks SOURCE gemm_coopmat2.comp PARAMETERS A D TYPES f32,f32 f16,f32 f16,f16
    DEFINES TENSOR_ADDRESSING=1 B_BLOCKS=1 NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
vkf_add_shader(gemm/gemm_coopmat2_half_blocks SOURCE gemm_coopmat2.comp PARAMETERS A D TYPES f32,f32 f16,f32 f16,f16
    DEFINES TENSOR_ADDRESSING=1 B_BLOCKS=1 HALF_SUMS=1 NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
vkf_add_shader(gemm/gemm_coopmat2_element SOURCE gemm_coopmat2.comp PARAMETERS A B D TYPES f32,f16,f32 f16,f16,f16
    NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
vkf_add_shader(gemm/gemm_coopmat2_element_blocks SOURCE gemm_coopmat2.comp PARAMETERS A D TYPES f16,f16
    DEFINES B_BLOCKS=1 NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
vkf_add_shader(attention/attention_coopmat PARAMETERS Q KV OUT TYPES f16,f16,f16 f16,f16,f32
    NEEDS GL_KHR_cooperative_matrix)
vkf_add_shader(attention/attention_coopmat2 PARAMETERS Q KV OUT TYPES f16,f16,f16 f16,f16,f32
    NEEDS GL_KHR_cooperative_matrix GL_NV_cooperative_matrix2)
