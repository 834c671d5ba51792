// Begins and ends what runs on all ranks, and gives each its device.
#include "ranks/ranked.h"

#include "command/commands.h"

#define MAX_DEVICES 64u

int vkf_run_ranked(vkf_ranks *out_ranks, int (*run)(void *user), void *user)
{
    vkf_ranks_begin(out_ranks);
    if (out_ranks->size > 1)
        vkf_print_as_rank(out_ranks->rank);
    const int code = run(user);
    if (code != VKF_EXIT_DONE && vkf_ranks_joined())
        vkf_ranks_abort(code);
    vkf_ranks_end();
    return out_ranks->rank == 0 ? code : VKF_EXIT_DONE;
}

vkf_device_choice vkf_ranked_device(const vkf_ranks *ranks, const vkf_common_options *options)
{
    vkf_device_info infos[MAX_DEVICES];
    uint32_t count = MAX_DEVICES, discrete = 0;
    const vkf_context_desc desc = {0};
    if (ranks->size == 1 || options->device_given || vkf_enumerate_devices(&desc, &count, infos) != VKF_OK)
        return options->device;
    for (uint32_t i = 0; i < count; i++)
        if (infos[i].type == VKF_DEVICE_TYPE_DISCRETE)
            infos[discrete++] = infos[i];
    if (discrete < 2)
        return options->device;
    return (vkf_device_choice){.kind = VKF_CHOOSE_INDEX, .index = infos[ranks->local_rank % discrete].index};
}
