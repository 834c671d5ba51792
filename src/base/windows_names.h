// What Windows has in place of UTF-8 and errno. For the files *_windows.c alone.
#ifndef VKF_BASE_WINDOWS_NAMES_H
#define VKF_BASE_WINDOWS_NAMES_H

#include <wchar.h>

// A copy for free(). NULL with errno where memory is exhausted, or the text is not UTF-8.
wchar_t *vkf__wide(const char *text);
char *vkf__utf8(const wchar_t *text);

// Puts what GetLastError() says into errno.
void vkf__take_windows_error(void);

#endif
