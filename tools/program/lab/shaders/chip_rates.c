// Peaks follow from the makers' FLOP/s over cores and boost clock. Each row says of which product they are.
#include "lab/shaders/chip_rates.h"

#include <stdio.h>
#include <string.h>

#include "output/visible_text.h"

#define UNITS(fma, packed, dot, matrix, matrix_f16, matrix_i8)                                                      \
    {                                                                                                               \
        [ASM_UNIT_FMA] = (fma), [ASM_UNIT_PACKED] = (packed), [ASM_UNIT_DOT] = (dot), [ASM_UNIT_MATRIX] = (matrix), \
        [ASM_UNIT_MATRIX_F16] = (matrix_f16), [ASM_UNIT_MATRIX_I8] = (matrix_i8)                                    \
    }

#define RDNA "AMD RDNA white paper: LDS 128 B, L0 128 B a clock; "
#define TURING_AND_LATER "NVIDIA CUDA programming guide, arithmetic instructions; "

// Behind the units: lanes, transcendentals, bytes of shared memory, of the core's own cache and of the memory, latency,
// units that waves are counted for, and whether matrix operations take vector instructions' slots.
static const chip_rates table[] = {
    {"vega10", "VEGA10", "CU", UNITS(64, 128, 0, 0, 0, 0), 64, 16, 128, 64, 4.9, 0, 4, true,
     "RX Vega 64: 64 CUs, 1546 MHz, 484 GB/s; AMD Vega ISA: 16 lanes a clock of each of 4 SIMDs, LDS 128 B a clock"},
    {"navi21", "NAVI21", "CU", UNITS(64, 128, 256, 0, 0, 0), 64, 16, 128, 128, 2.8, 0, 2, true,
     RDNA "RX 6900 XT: 80 CUs, 2250 MHz, 512 GB/s, 23 TFLOP/s of float32, 46 of float16"},
    {"navi31", "NAVI31", "CU", UNITS(128, 128, 256, 256, 256, 256), 64, 16, 128, 128, 4.0, 376, 2, true,
     RDNA "RX 7900 XTX: 96 CUs, 2500 MHz, 960 GB/s, 61 TFLOP/s of float32; GPUOpen on WMMA: 512 FLOP a clock of a CU; "
          "Chips and Cheese, 2023-06-14: 150 ns to the Infinity Cache"},
    {"gfx1201", "GFX1201", "CU", UNITS(128, 128, 256, 512, 512, 1024), 64, 16, 128, 128, 3.4, 0, 2, true,
     RDNA "RX 9070 XT: 64 CUs, 2970 MHz, 640 GB/s, 49 TFLOP/s of float32; GPUOpen on RDNA 4: 1024 FLOP of float16 "
          "and 2048 operations of int8 a clock of a CU"},
    {"nv140", NULL, "SM", UNITS(64, 128, 256, 512, 512, 0), 128, 16, 128, 128, 5.6, 193, 1, false,
     TURING_AND_LATER "Titan V: 80 SMs, 1455 MHz, 653 GB/s; V100 white paper: 512 tensor multiply-adds a clock of an "
                      "SM; Jia et al., Dissecting the Volta: L2 193 clocks"},
    {"nv162", NULL, "SM", UNITS(64, 128, 256, 256, 512, 1024), 128, 16, 64, 64, 5.9, 188, 1, false,
     TURING_AND_LATER "RTX 2080 Ti: 68 SMs, 1545 MHz, 616 GB/s; Turing white paper: 54 tensor TFLOP/s with sums of "
                      "float32; Jia et al., Dissecting the Turing T4: L2 188 clocks"},
    {"nv172", NULL, "SM", UNITS(128, 128, 256, 256, 512, 1024), 128, 16, 128, 128, 6.7, 0, 1, false,
     TURING_AND_LATER "RTX 3090: 82 SMs, 1695 MHz, 936 GB/s; GA102 white paper: shared memory 128 B a clock, 71 tensor "
                      "TFLOP/s with sums of float32"},
    {"nv192", NULL, "SM", UNITS(128, 128, 256, 256, 512, 1024), 128, 16, 128, 128, 3.1, 273, 1, false,
     TURING_AND_LATER "RTX 4090: 128 SMs, 2520 MHz, 1008 GB/s; Ada white paper: 165 tensor TFLOP/s with sums of "
                      "float32; arXiv 2402.13499: L2 273 clocks"},
    {"nv1b2", NULL, "SM", UNITS(128, 128, 512, 256, 512, 1024), 128, 16, 128, 128, 4.4, 0, 1, false,
     TURING_AND_LATER "RTX 5090: 170 SMs, 2407 MHz, 1792 GB/s; Blackwell white paper: 210 tensor TFLOP/s with sums of "
                      "float32"},
    {"a730", "Adreno (TM) 730", "uSPTP", UNITS(128, 256, 0, 0, 0, 0), 128, 16, 0, 0, 8.9, 0, 1, true,
     "Chips and Cheese, 2024-03-05: 4 SPs of 2 uSPTPs, 128 lanes of float32, 900 MHz; LPDDR5-6400, 51 GB/s"},
    {"a740", "Adreno (TM) 740", "uSPTP", UNITS(128, 256, 0, 0, 0, 0), 128, 16, 0, 0, 8.2, 0, 1, true,
     "Chips and Cheese, 2024-07-04: 6 SPs of 2 uSPTPs, 128 lanes of float32; Snapdragon 8 Gen 2: 680 MHz, 67 GB/s"},
    {"a750", "Adreno (TM) 750", "uSPTP", UNITS(128, 256, 0, 0, 0, 0), 128, 16, 0, 0, 6.4, 0, 1, true,
     "Chips and Cheese, 2024-07-04: 6 SPs of 2 uSPTPs, 128 lanes of float32; Snapdragon 8 Gen 3: 1000 MHz, 77 GB/s"},
    {"g610", "Mali-G610", "core", UNITS(64, 128, 256, 0, 0, 0), 64, 16, 64, 64, 8.4, 0, 0, true,
     "ARM-software/libGPUInfo: 2 engines of 32 FMAs of f32; Arm GPU datasheet: f16 at twice, 8-bit dot products at "
     "four times that; Arm, The Valhall Shader Core: special functions at a quarter; Arm on load/store, also of "
     "shared memory: a clock for a line of 64 B; RK3588: 4 cores, 1000 MHz, LPDDR4X-4224 of 64 bits"},
};

const chip_rates *chip_rates_find(const char *name, const char *device)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (name ? strcmp(table[i].name, name) == 0
                 : device && table[i].device && strstr(device, table[i].device) != NULL)
            return &table[i];
    }
    return NULL;
}

void chip_rates_list(void)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        vkf_print_on(stderr, "%-8s of a %s: %s\n", table[i].name, table[i].core, table[i].source);
}
