// The picture as a self-contained web page: no scripts, no network.
#ifndef VKF_PROGRAM_ATTENTION_PAGE_H
#define VKF_PROGRAM_ATTENTION_PAGE_H

#include <stdio.h>

#include "attention/attention_picture.h"

// With `cells`, each cell shows its weight when pointed at. False: memory is exhausted.
bool vkf_attention_page_write(FILE *out, const vkf_attention_picture *picture, bool cells);

#endif
