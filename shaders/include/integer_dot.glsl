// Sums of products of four bytes in a word, by SPIR-V's integer dot product. The kernel that includes this enables
// GL_EXT_spirv_intrinsics, because older compilers have no extension for the instruction itself.
#ifndef VKF_INTEGER_DOT_GLSL
#define VKF_INTEGER_DOT_GLSL

// OpSDotKHR with the capabilities DotProductInput4x8BitPackedKHR and DotProductKHR. 0 is the only `format`.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int spirv_signed_dot(int a, int b, spirv_literal int format);

// Four signed bytes by four signed bytes, exact.
int dot_bytes(uint a, uint b)
{
    return spirv_signed_dot(int(a), int(b), 0);
}

int dot_bytes(uvec4 a, uvec4 b)
{
    return dot_bytes(a.x, b.x) + dot_bytes(a.y, b.y) + dot_bytes(a.z, b.z) + dot_bytes(a.w, b.w);
}

#endif
