// Chooses and replaces tokens by random numbers that depend on their places alone.
#include "train/masking.h"

#include "base/philox.h"
#include "train/example_tokens.h"

#define CHOSEN_PERCENT 15u
#define STREAM 0x6d61736bu // apart from other numbers of the same seed

static uint32_t below(uint32_t word, uint32_t limit)
{
    return (uint32_t)((uint64_t)word * limit >> 32);
}

static int32_t replace(const vkf_masking *masking, int32_t id, uint32_t choice, uint32_t other)
{
    const uint32_t tenth = below(choice, 10);
    return tenth < 8 ? masking->mask_id : tenth == 8 ? (int32_t)below(other, masking->vocab) : id;
}

void vkf_masking_apply(const vkf_masking *masking, uint32_t epoch, uint32_t example, uint32_t count, int32_t *ids,
                       int32_t *labels)
{
    const uint32_t key[2] = {(uint32_t)masking->seed, (uint32_t)(masking->seed >> 32)};
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++)
        left += labels[i] != VKF_IGNORED_LABEL;
    uint32_t wanted = (uint32_t)(((uint64_t)left * CHOSEN_PERCENT + 50) / 100);
    wanted = wanted > 0 || left == 0 ? wanted : 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t counter[4] = {i, example, epoch, STREAM};
        uint32_t words[4];
        if (labels[i] == VKF_IGNORED_LABEL)
            continue;
        vkf__philox(counter, key, words);
        // So each subset is as probable as any other (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S).
        if (below(words[0], left--) < wanted) {
            ids[i] = replace(masking, ids[i], words[1], words[2]);
            wanted--;
        } else {
            labels[i] = VKF_IGNORED_LABEL;
        }
    }
}
