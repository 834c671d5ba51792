// Counts the users of a context: its owner, and every object made from it.
#include "kernel/context.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[VKF_MADE_COUNT] = {
    [VKF_MADE_BUFFER] = "buffer",         [VKF_MADE_LAYER] = "layer",         [VKF_MADE_MODEL] = "model",
    [VKF_MADE_SESSION] = "session",       [VKF_MADE_GENERATOR] = "generator", [VKF_MADE_EMBEDDER] = "embedder",
    [VKF_MADE_VOCABULARY] = "vocabulary", [VKF_MADE_TRAINER] = "trainer",
};

static void drop(vkf_context *context)
{
    if (atomic_fetch_sub(&context->references, 1) == 1)
        vkf__context_destroy(context);
}

void vkf__context_hold(vkf_context *context, vkf__made kind)
{
    atomic_fetch_add(&context->references, 1);
    atomic_fetch_add(&context->made[kind], 1);
}

void vkf__context_drop(vkf_context *context, vkf__made kind)
{
    atomic_fetch_sub(&context->made[kind], 1);
    drop(context);
}

// Writes for example "2 sessions, 1 model", or "" when there is nothing to list.
static void list_made(const vkf_context *context, char *out_text, size_t capacity)
{
    size_t used = 0;
    out_text[0] = '\0';
    for (int kind = 0; kind < VKF_MADE_COUNT && used < capacity; kind++) {
        size_t count = atomic_load(&context->made[kind]);
        const char *plural = count == 1 ? "" : kind == VKF_MADE_VOCABULARY ? "ies" : "s";
        int letters = (int)strlen(kind_names[kind]) - (*plural == 'i' ? 1 : 0);
        if (count > 0)
            used += (size_t)snprintf(out_text + used, capacity - used, "%s%zu %.*s%s", used > 0 ? ", " : "", count,
                                     letters, kind_names[kind], plural);
    }
}

void vkf__context_drop_owner(vkf_context *context)
{
    char made[256];
    list_made(context, made, sizeof made);
    if (made[0] != '\0')
        vkf__log(
            &context->host, VKF_SEVERITY_WARNING,
            "vkf_context_destroy: %s made from the context live on: it is freed with the last of them, and uses its "
            "callbacks until then",
            made);
    drop(context);
}
