// Unicode's four normal forms, with alignment.
#ifndef VKF_TEXT_NORMAL_FORM_H
#define VKF_TEXT_NORMAL_FORM_H

#include "text/aligned_text.h"

typedef struct vkf__normal_form {
    bool compatible; // NFKC, NFKD
    bool composed;   // NFC, NFKC
} vkf__normal_form;

// A vkf__rewrite_fn; `form` is a vkf__normal_form.
void vkf__put_normal_form(vkf__aligned_text *text, const void *form);

#endif
