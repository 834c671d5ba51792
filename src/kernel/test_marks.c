// Reads and writes the marks of self-tests that are under way.
#include "kernel/test_marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/variant_hash.h"

#define MARKS_HEADER "vkformer-testing 1"
// A test takes no longer. Whoever is started again and again for as long as a test brings the process down is, after a
// few times, started less often than that.
#define ELSEWHERE_SECONDS 30

static bool parse_mark(const char *line, vkf__test_mark *out_mark)
{
    char variant[160];
    uint64_t hash = 0, date = 0;
    int used = 0;
    vkf__test_mark mark = {0};
    vkf__process_mark *tester = &mark.tester;
    if (sscanf(line,
               "%159s %16" SCNx64 " %3" SCNu32 " %15" SCNu64 " %19" SCNu64 " %19" SCNu64 " %19" SCNu64 " %40s %40s%n",
               variant, &hash, &mark.strikes, &date, &tester->id, &tester->started, &tester->place.numbers,
               tester->place.boot, tester->place.host, &used) != 9 ||
        line[used] != '\0' || !vkf__variant_named(variant, strlen(variant), &mark.kernel, &mark.config))
        return false;
    mark.date = (int64_t)date;
    *out_mark = mark;
    return vkf__variant_hash(mark.kernel, mark.config) == hash;
}

static void add(vkf__text_out *out, const vkf__test_mark *mark)
{
    const vkf__process_mark *tester = &mark->tester;
    const uint64_t hash = vkf__variant_hash(mark->kernel, mark->config);
    if (hash == 0)
        return;
    if (out->length == 0)
        vkf__text_add(out, MARKS_HEADER "\n");
    vkf__text_add(out, "%s/%s %016" PRIx64 " %" PRIu32 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n",
                  mark->kernel->name, mark->config->name, hash, mark->strikes, mark->date, tester->id, tester->started,
                  tester->place.numbers, tester->place.boot, tester->place.host);
}

static bool holds(const vkf__test_mark *mark)
{
    const vkf__process_state state = vkf__process_state_of(&mark->tester);
    const int64_t age = (int64_t)time(NULL) - mark->date;
    return state == VKF_PROCESS_LIVES ||
           (state == VKF_PROCESS_ELSEWHERE && age < ELSEWHERE_SECONDS && age > -ELSEWHERE_SECONDS);
}

static bool is_own(const vkf__process_mark *tester)
{
    const vkf__process_mark own = vkf__process_mark_own();
    return own.id == tester->id && own.started == tester->started && vkf__same_place(&own.place, &tester->place);
}

void vkf__test_marks_keep(const char *text, size_t size_bytes, const vkf__variant *ended, vkf__test_lost_fn lost,
                          void *user, vkf__text_out *out)
{
    bool good = false;
    vkf__test_mark mark;
    vkf__text_lines lines = {.text = text, .size_bytes = size_bytes};
    if (!vkf__text_next(&lines, &good) || !good || strcmp(lines.line, MARKS_HEADER) != 0)
        return;
    while (vkf__text_next(&lines, &good)) {
        if (!good || !parse_mark(lines.line, &mark))
            continue;
        if (ended && mark.kernel == ended->kernel && mark.config == ended->config && is_own(&mark.tester))
            continue;
        if (holds(&mark))
            add(out, &mark);
        else
            lost(user, &mark);
    }
}

void vkf__test_marks_add(vkf__text_out *out, const vkf__variant *variant, uint32_t strikes)
{
    add(out, &(vkf__test_mark){
                 .kernel = variant->kernel,
                 .config = variant->config,
                 .strikes = strikes,
                 .date = (int64_t)time(NULL),
                 .tester = vkf__process_mark_own(),
             });
}
