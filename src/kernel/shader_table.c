#include "kernel/shader_table.h"

#include <string.h>

const vkf__shader *vkf__shader_find(const char *name)
{
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        if (strcmp(vkf__shaders[i].name, name) == 0)
            return &vkf__shaders[i];
    }
    return NULL;
}
