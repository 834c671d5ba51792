// Calls the functions of the subject's kind.
#include "lab/profile/profile_subject.h"

#include <stdio.h>

vkf_status vkf_profile_subject_begin(vkf_context *context, const vkf_profile_settings *settings,
                                     vkf_profile_subject *out_subject)
{
    *out_subject = (vkf_profile_subject){.kind = settings->directory ? &vkf_profile_model : &vkf_profile_layer};
    return out_subject->kind->begin(context, settings, &out_subject->state, &out_subject->plan);
}

void vkf_profile_subject_end(vkf_profile_subject *subject)
{
    if (subject->state)
        subject->kind->end(subject->state);
    *subject = (vkf_profile_subject){0};
}

vkf_status vkf_profile_subject_run(vkf_profile_subject *subject)
{
    return subject->kind->run(subject->state);
}

json_t *vkf_profile_subject_json(const vkf_profile_subject *subject)
{
    return subject->kind->describe(subject->state);
}

void vkf_profile_subject_name(const json_t *subject, char *out_text, size_t size_bytes)
{
    const char *model = json_string_value(json_object_get(subject, "model"));
    const char *layer = json_string_value(json_object_get(subject, "layer"));
    snprintf(out_text, size_bytes, "%s%s", model ? "" : "layer ", model ? model : layer ? layer : "");
}
