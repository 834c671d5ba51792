// Libraries that are opened at run time: the Vulkan loader, and the compiler of GLSL. What a system calls them by is in
// shared_library_posix.c and shared_library_windows.c alone.
#ifndef VKF_BASE_SHARED_LIBRARY_H
#define VKF_BASE_SHARED_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

// Any function; the caller knows which type it really has.
typedef void (*vkf__library_function)(void);

// Opens a library by its path, or by its name alone in the places where the system looks. NULL when there is none, or
// it cannot be loaded; the reason, as the system tells it, is then in *out_why until the thread's next call.
void *vkf__library_open(const char *name, const char **out_why);
// NULL when the library has no function of this name.
vkf__library_function vkf__library_find(void *library, const char *name);
// Takes NULL.
void vkf__library_close(void *library);

// The folder of the file that this code was loaded from: the shared library, or the program that has it inside. False
// when the system does not tell, or the folder does not fit.
bool vkf__library_own_folder(char *out_folder, size_t capacity);

#endif
