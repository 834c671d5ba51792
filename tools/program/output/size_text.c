// Writes numbers of bytes in binary units.
#include "output/size_text.h"

#include <stdio.h>

void vkf_size_text(uint64_t bytes, char out_text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(out_text, 32, value == (double)(uint64_t)value ? "%.0f %s" : "%.1f %s", value, units[unit]);
}
