// The tile of a workgroup in a grid of tiles. Workgroups that run side by side take tiles that lie close to each other,
// so that they find each other's operands in the cache: bands of BAND rows of tiles are walked column by column.
#ifndef VKF_NEAR_TILE_GLSL
#define VKF_NEAR_TILE_GLSL

uvec2 near_tile()
{
    const uint BAND = 8;
    uint linear = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint band = linear / (BAND * gl_NumWorkGroups.x);
    uint rows = min(BAND, gl_NumWorkGroups.y - band * BAND);
    uint within = linear - band * BAND * gl_NumWorkGroups.x;
    return uvec2(within / rows, band * BAND + within % rows);
}

#endif
