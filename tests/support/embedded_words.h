// The SPIR-V of a kernel as the build embedded it.
#ifndef VKF_TESTS_EMBEDDED_WORDS_H
#define VKF_TESTS_EMBEDDED_WORDS_H

#include <stdio.h>
#include <stdlib.h>

#include "kernel/shader_table.h"

// shader->word_count words, which the caller gives to free(); NULL, and a line on stderr, when they cannot be unpacked.
static inline uint32_t *embedded_words(const vkf__shader *shader)
{
    vkf__host host;
    uint32_t *words = NULL;
    vkf_status status = vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR);
    if (status == VKF_OK)
        status = vkf__shader_words(&host, shader, &words);
    if (status != VKF_OK)
        (void)fprintf(stderr, "%s: %s\n", shader->name, vkf_status_text(status));
    return words;
}

#endif
