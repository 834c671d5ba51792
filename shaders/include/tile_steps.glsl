// A tile in shared memory is filled in steps, in each of which every invocation fetches a part of the same size. All
// steps are fetched before the first is stored, so that their loads are under way together. Included after LOCAL_SIZE.
#ifndef VKF_TILE_STEPS_GLSL
#define VKF_TILE_STEPS_GLSL

// The number of a part among those of all invocations.
uint step_number(uint step)
{
    return step * LOCAL_SIZE + gl_LocalInvocationID.x;
}

// How many steps it takes to fetch this many parts, and whether this invocation has one in that step.
#define STEPS_OF(parts) (((parts) + LOCAL_SIZE - 1) / LOCAL_SIZE)

bool has_step(uint step, uint parts)
{
    return parts % LOCAL_SIZE == 0 || step_number(step) < parts;
}

#endif
