// Lists verdicts as text and as JSON.
#include "info/verdict_list.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command/options.h"
#include "output/json_output.h"
#include "output/visible_text.h"

typedef struct verdict_count {
    uint32_t passed, left_out, other;
} verdict_count;

static const char *format_date(int64_t date, const char *format, char out_text[32])
{
    const time_t seconds = (time_t)date;
    const struct tm *utc = gmtime(&seconds);
    if (!utc || strftime(out_text, 32, format, utc) == 0)
        snprintf(out_text, 32, "-");
    return out_text;
}

static bool is_good(const vkf_verdict *verdict)
{
    return strcmp(verdict->verdict, "passed") == 0 || strcmp(verdict->verdict, "proven") == 0 ||
           strcmp(verdict->verdict, "faster") == 0;
}

static void count(void *user, const vkf_verdict *verdict)
{
    verdict_count *counts = user;
    if (verdict->left_out)
        counts->left_out++;
    else if (is_good(verdict))
        counts->passed++;
    else
        counts->other++;
}

static void print(void *user, const vkf_verdict *verdict)
{
    const bool *all = user;
    char date[32];
    if (is_good(verdict) && !*all)
        return;
    vkf_print("    %-42s %s since %s", verdict->variant, verdict->verdict,
              format_date(verdict->date, "%Y-%m-%d", date));
    if (verdict->strikes > 0)
        vkf_print(", %u strike%s: %s", verdict->strikes, verdict->strikes == 1 ? "" : "s",
                  verdict->left_out ? "left out" : "tested again before its next use");
    vkf_print("%s%s\n", verdict->reason[0] ? ": " : "", verdict->reason);
}

void vkf_print_verdicts(vkf_context *context, bool all)
{
    verdict_count counts = {0};
    if (vkf_context_visit_verdicts(context, count, &counts) != VKF_OK)
        return;
    vkf_print("  verdicts         %u good, %u left out, %u others; --forget has all of them tested again\n",
              counts.passed, counts.left_out, counts.other);
    if (vkf_context_visit_verdicts(context, print, &all) != VKF_OK)
        vkf_print_error("the verdicts cannot be listed");
}

static void add_json(void *user, const vkf_verdict *verdict)
{
    char date[32];
    json_t *line = json_object();
    vkf_json_put_string(line, "variant", verdict->variant);
    vkf_json_put_string(line, "verdict", verdict->verdict);
    json_object_set_new(line, "left_out", json_boolean(verdict->left_out));
    vkf_json_put_integer(line, "strikes", verdict->strikes);
    vkf_json_put_string(line, "date", format_date(verdict->date, "%Y-%m-%dT%H:%M:%SZ", date));
    vkf_json_put_string(line, "reason", verdict->reason);
    json_array_append_new(user, line);
}

json_t *vkf_verdicts_json(vkf_context *context)
{
    json_t *list = json_array();
    if (list && vkf_context_visit_verdicts(context, add_json, list) != VKF_OK)
        json_array_clear(list);
    return list;
}
