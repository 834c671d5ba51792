// Text on the standard streams. What a file, a driver or a message holds must not steer the terminal that shows it.
#ifndef VKF_PROGRAM_VISIBLE_TEXT_H
#define VKF_PROGRAM_VISIBLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/host.h"

// Writes the text with every control character but newline and tab as \u001b, which JSON reads as the same character,
// and every byte that is no UTF-8 as \x9b. False when writing failed.
bool vkf_write_visible(FILE *stream, const char *text, size_t size_bytes);

// printf() and fprintf() through it.
void vkf_print(const char *format, ...) VKF_PRINTF(1, 2);
void vkf_print_on(FILE *stream, const char *format, ...) VKF_PRINTF(2, 3);

// Prints a name in a table on the standard output, whose newlines and tabs are shown, too.
void vkf_print_name(const char *name, size_t size_bytes);

// Prints a text that is the result itself, as a model or a file has it, on the standard output: byte by byte, but
// visibly where a terminal shows it.
void vkf_print_text(const char *text, size_t size_bytes);

#endif
