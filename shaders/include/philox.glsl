// Philox4x32-10 (Salmon et al. 2011): four random words for a counter and a key, those of vkf__philox(). Its authors
// chose the multipliers, and the Weyl constants by which the key is raised.
#ifndef VKF_PHILOX_GLSL
#define VKF_PHILOX_GLSL

uvec4 philox(uvec4 counter, uvec2 key)
{
    [[unroll]] for (uint i = 0; i < 10; ++i) {
        uint high_0, low_0, high_1, low_1;
        umulExtended(0xd2511f53u, counter.x, high_0, low_0);
        umulExtended(0xcd9e8d57u, counter.z, high_1, low_1);
        counter = uvec4(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}

#endif
