// Frees the results that runs of a model hand to callers. Each carries the allocator that it was made with, so this
// works after the context is gone.
#include <vkformer/embed.h>
#include <vkformer/generate.h>

void vkf_continuation_free(vkf_continuation *continuation)
{
    if (!continuation)
        return;
    const vkf_allocator *allocator = &continuation->allocator;
    if (continuation->text)
        allocator->release(allocator->user, continuation->text);
    if (continuation->ids)
        allocator->release(allocator->user, continuation->ids);
    *continuation = (vkf_continuation){0};
}

void vkf_prediction_free(vkf_prediction *prediction)
{
    if (!prediction)
        return;
    if (prediction->logits)
        prediction->allocator.release(prediction->allocator.user, prediction->logits);
    vkf_encoding_free(&prediction->tokens);
    *prediction = (vkf_prediction){0};
}
