// Hot loops of assemblies that were saved to files.
#ifndef VKF_PROGRAM_LOOP_FILE_H
#define VKF_PROGRAM_LOOP_FILE_H

#include "lab/shaders/shader_output.h"

// Whether an argument is such a file (.asm) rather than a kernel's name.
bool vkf_is_assembly_file(const char *argument);
// Reads and prints all of them, for a chip and with so many waves; NULL and a negative number for none. Returns an
// exit code; messages have been printed.
int vkf_report_assembly_files(char *const *paths, size_t count, const chip_rates *rates, int64_t waves,
                              vkf_rows_format format);

#endif
