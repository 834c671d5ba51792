// Numbers of bytes as people read them.
#ifndef VKF_PROGRAM_SIZE_TEXT_H
#define VKF_PROGRAM_SIZE_TEXT_H

#include <stdint.h>

// "621.1 MiB", in the largest unit of which there is one.
void vkf_size_text(uint64_t bytes, char out_text[32]);

#endif
