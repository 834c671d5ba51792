// Numbers as Python's json reads them and jansson does not.
#ifndef VKF_IO_JSON_TEXT_H
#define VKF_IO_JSON_TEXT_H

#include "base/host.h"

#define VKF_JSON_NAN "NaN"
#define VKF_JSON_INFINITY "Infinity"

// Rewrites the numbers of a JSON text for jansson: NaN, Infinity and numbers of 1e308 and more become strings of these
// names ("-Infinity" where they are negative), whole numbers with a fraction or an exponent, as 64.0, become integers,
// and integers that may exceed 64 bits become reals. The rest stays byte for byte, be it JSON or not. *out_text is NULL
// where nothing is to be rewritten; vkf__free() releases it.
VKF_MUST_CHECK vkf_status vkf__json_text_rewrite(const vkf__host *host, const char *text, size_t text_bytes,
                                                 char **out_text, size_t *out_bytes);

#endif
