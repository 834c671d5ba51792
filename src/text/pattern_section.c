// Reads a pattern of a tokenizer file.
#include "text/pattern_section.h"

vkf_status vkf__section_pattern(const vkf__json_section *section, vkf__pattern **out_pattern)
{
    vkf_status status = VKF_OK;
    vkf__json_section pattern;
    const char *literal = NULL;
    const char *expression = NULL;
    VKF_RETURN_IF_ERROR(vkf__section_get(section, "pattern", &pattern));
    VKF_RETURN_IF_ERROR(vkf__section_is_object(&pattern));
    VKF_RETURN_IF_ERROR(vkf__section_string(&pattern, "String", &literal));
    VKF_RETURN_IF_ERROR(vkf__section_string(&pattern, "Regex", &expression));
    if (literal)
        status = vkf__pattern_create_literal(section->host, literal, out_pattern);
    else if (expression)
        status = vkf__pattern_create(section->host, pattern.where, expression, out_pattern);
    else
        status = vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: neither key 'String' nor key 'Regex' is there",
                           pattern.where);
    return status;
}
