// Loads, updates and saves the verdicts and the tuner's table of a context.
#include "kernel/learned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/test_marks.h"
#include "kernel/text_table.h"

#define MAX_TEXT_BYTES ((size_t)4 << 20)

// *out_text is NULL and *out_size 0 when nothing is stored.
static vkf_status load_text(const vkf__learned *learned, const char *prefix, char **out_text, size_t *out_size)
{
    const vkf_cache_callbacks *cache = learned->cache;
    char key[96];
    char *text = NULL;
    vkf__device_key(&learned->device->plan.caps, prefix, key, sizeof key);
    size_t size = cache->load ? cache->load(cache->user, key, NULL, 0) : 0;
    if (size > MAX_TEXT_BYTES)
        size = 0;
    if (size > 0) {
        VKF_ALLOC_OR_RETURN(learned->device->host, text, size);
        size_t loaded = cache->load(cache->user, key, text, size);
        size = loaded < size ? loaded : size;
    }
    *out_text = text;
    *out_size = size;
    return VKF_OK;
}

static vkf_status load_verdicts(vkf__learned *learned)
{
    const vkf__device *device = learned->device;
    char *text = NULL;
    size_t size = 0;
    vkf_status status = load_text(learned, "verdicts", &text, &size);
    if (status == VKF_OK)
        vkf__verdicts_parse(device->host, &device->plan.caps, text, size, &learned->verdicts);
    vkf__free(device->host, text);
    return status;
}

// A vkf__test_lost_fn with the vkf__learned.
static void strike(void *user, const vkf__test_mark *mark)
{
    vkf__learned *learned = user;
    const vkf__process_mark *tester = &mark->tester;
    char reason[VKF_VERDICT_REASON_BYTES], key[96];
    bool left_out = false;
    (void)snprintf(reason, sizeof reason,
                   "process %" PRIu64 " did not come back: of host %s, process namespace %" PRIu64 ", boot %s",
                   tester->id, tester->place.host, tester->place.numbers, tester->place.boot);
    vkf__verdict_strike(&learned->verdicts, mark->kernel, mark->config, mark->strikes + 1, reason, &left_out);
    atomic_store(&learned->unsaved_verdicts, true);
    if (!left_out)
        return;
    vkf__device_key(&learned->device->plan.caps, "verdicts", key, sizeof key);
    vkf__log(learned->device->host, VKF_SEVERITY_WARNING,
             "%s/%s is not used from now on: its self-test was begun %d times on this device and never ended, so the "
             "driver may have brought down the process. It is tested again once vkf_context_forget_verdicts() "
             "(vkformer: info --forget) has removed what is kept in the cache as \"%s\"",
             mark->kernel->name, mark->config->name, VKF_VERDICT_STRIKES, key);
}

// Adds to `out` the marks of tests that others run, and counts those that did not end.
static vkf_status load_marks(vkf__learned *learned, const vkf__variant *ended, vkf__text_out *out)
{
    char *text = NULL;
    size_t size = 0;
    VKF_RETURN_IF_ERROR(load_text(learned, "testing", &text, &size));
    vkf__test_marks_keep(text, size, ended, strike, learned, out);
    vkf__free(learned->device->host, text);
    return out->status;
}

// What of these did not end before.
static vkf_status look_at_marks(vkf__learned *learned)
{
    vkf__text_out out = {.host = learned->device->host};
    const vkf_status status = load_marks(learned, NULL, &out);
    vkf__free(out.host, out.text);
    return status;
}

static vkf_status load_passed(vkf__learned *learned)
{
    const vkf__device *device = learned->device;
    char *text = NULL;
    size_t size = 0;
    vkf_status status = load_text(learned, "passed", &text, &size);
    if (status == VKF_OK)
        status = vkf__passed_parse(device->host, &device->plan.caps, text, size, &learned->passed);
    vkf__free(device->host, text);
    return status;
}

#define BATCH_HEADER "vkformer-batch 1"

// Whether what is stored tells of a batch that was begun by a process which is gone.
static vkf_status load_batch(vkf__learned *learned)
{
    char *text = NULL, line[256];
    size_t size = 0;
    vkf__process_mark mark = {0};
    VKF_RETURN_IF_ERROR(load_text(learned, "batch", &text, &size));
    (void)snprintf(line, sizeof line, "%.*s", (int)(size < sizeof line ? size : 0), text ? text : "");
    learned->one_by_one = sscanf(line, BATCH_HEADER " started %19" SCNu64 " %19" SCNu64 " %19" SCNu64 " %40s %40s",
                                 &mark.id, &mark.started, &mark.place.numbers, mark.place.boot, mark.place.host) == 5 &&
                          vkf__process_state_of(&mark) == VKF_PROCESS_ENDED;
    vkf__free(learned->device->host, text);
    return VKF_OK;
}

#define CORES_HEADER "vkformer-cores 1"

// 0 where the text is not a table of this device's cores.
static uint32_t parse_cores(const vkf__caps *caps, const char *text, size_t size)
{
    bool good = false;
    unsigned cores = 0;
    int used = 0;
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__text_lines lines = {.text = text, .size_bytes = size};
    vkf__device_line(caps, device);
    if (!vkf__text_next(&lines, &good) || !good || strcmp(lines.line, CORES_HEADER) != 0 ||
        !vkf__text_next(&lines, &good) || !good || strcmp(lines.line, device) != 0 || !vkf__text_next(&lines, &good) ||
        !good || sscanf(lines.line, "cores %9u%n", &cores, &used) != 1 || lines.line[used] != '\0')
        return 0;
    return cores;
}

static vkf_status load_cores(vkf__learned *learned)
{
    const vkf__device *device = learned->device;
    char *text = NULL;
    size_t size = 0;
    VKF_RETURN_IF_ERROR(load_text(learned, "cores", &text, &size));
    learned->cores = size > 0 ? parse_cores(&device->plan.caps, text, size) : 0;
    if (size > 0 && learned->cores == 0)
        vkf__log(device->host, VKF_SEVERITY_WARNING, "stored number of cores ignored: it is malformed");
    vkf__free(device->host, text);
    return VKF_OK;
}

static vkf_status load_tuned(const vkf__learned *learned, vkf__tuned *out_tuned)
{
    const vkf__device *device = learned->device;
    char *text = NULL;
    size_t size = 0;
    vkf_status status = load_text(learned, "tuned", &text, &size);
    if (status == VKF_OK)
        status = vkf__tuned_parse(device->host, &device->plan.caps, text, size, out_tuned);
    vkf__free(device->host, text);
    return status;
}

// Takes ownership of `tuned`, on failure too. Older tables are kept until the end, because readers may hold them.
static vkf_status publish(vkf__learned *learned, vkf__tuned *tuned)
{
    const vkf__host *host = learned->device->host;
    vkf_status status = VKF_OK;
    vkf__tuned_table *table = NULL;
    VKF_ALLOC(host, table, 1);
    *table = (vkf__tuned_table){.tuned = *tuned, .older = atomic_load(&learned->newest)};
    atomic_store(&learned->newest, table);
    return VKF_OK;
fail:
    vkf__tuned_free(host, tuned);
    return status;
}

vkf_status vkf__learned_init(vkf__learned *learned, vkf__device *device, const vkf_cache_callbacks *cache, bool keep)
{
    vkf__tuned tuned = {0};
    learned->device = device;
    learned->cache = cache;
    learned->keep = keep;
    VKF_RETURN_IF_ERROR(vkf__verdicts_init(device->host, &learned->verdicts));
    if (pthread_mutex_init(&learned->lock, NULL) != 0)
        return vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "context: the system has no mutex left");
    learned->lock_ready = true;
    if (!keep)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(load_verdicts(learned));
    VKF_RETURN_IF_ERROR(look_at_marks(learned));
    VKF_RETURN_IF_ERROR(load_passed(learned));
    VKF_RETURN_IF_ERROR(load_batch(learned));
    VKF_RETURN_IF_ERROR(load_cores(learned));
    VKF_RETURN_IF_ERROR(load_tuned(learned, &tuned));
    if (tuned.count > 0)
        VKF_RETURN_IF_ERROR(publish(learned, &tuned));
    return VKF_OK;
}

void vkf__learned_finish(vkf__learned *learned)
{
    if (!learned->device)
        return;
    const vkf__host *host = learned->device->host;
    for (vkf__tuned_table *table = atomic_load(&learned->newest), *older = NULL; table; table = older) {
        older = table->older;
        vkf__tuned_free(host, &table->tuned);
        vkf__free(host, table);
    }
    vkf__verdicts_free(&learned->verdicts);
    vkf__passed_free(host, &learned->passed);
    if (learned->lock_ready)
        pthread_mutex_destroy(&learned->lock);
    learned->lock_ready = false;
    learned->device = NULL;
}

const vkf__tuned *vkf__learned_tuned(const vkf__learned *learned)
{
    const vkf__tuned_table *table = atomic_load(&learned->newest);
    return table ? &table->tuned : NULL;
}

void vkf__learned_found(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config,
                        const vkf__finding *finding)
{
    pthread_mutex_lock(&learned->lock);
    vkf__verdict_note(&learned->verdicts, kernel, config, finding);
    pthread_mutex_unlock(&learned->lock);
    atomic_store(&learned->unsaved_verdicts, true);
}

void vkf__learned_verdict(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config,
                          vkf__verdict verdict)
{
    vkf__learned_found(learned, kernel, config, &(vkf__finding){.verdict = verdict});
}

void vkf__learned_race(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config, vkf__race race)
{
    pthread_mutex_lock(&learned->lock);
    vkf__race_set(&learned->verdicts, kernel, config, race);
    pthread_mutex_unlock(&learned->lock);
    atomic_store(&learned->unsaved_verdicts, true);
}

static vkf_status copy_entries(const vkf__host *host, const vkf__tuned *from, vkf__tuned *to)
{
    for (size_t i = 0; from && i < from->count; i++)
        VKF_RETURN_IF_ERROR(vkf__tuned_put(host, to, &from->entries[i]));
    return VKF_OK;
}

vkf_status vkf__learned_measured(vkf__learned *learned, const vkf__tuned_entry *entry)
{
    const vkf__host *host = learned->device->host;
    vkf_status status = VKF_OK;
    vkf__tuned tuned = {0};
    pthread_mutex_lock(&learned->lock);
    VKF_TRY(copy_entries(host, vkf__learned_tuned(learned), &tuned));
    VKF_TRY(vkf__tuned_put(host, &tuned, entry));
    VKF_TRY(publish(learned, &tuned));
    tuned = (vkf__tuned){0};
    atomic_store(&learned->unsaved_tuned, true);
fail:
    pthread_mutex_unlock(&learned->lock);
    vkf__tuned_free(host, &tuned);
    return status;
}

static void save_text(const vkf__learned *learned, const char *prefix, const char *text)
{
    char key[96];
    vkf__device_key(&learned->device->plan.caps, prefix, key, sizeof key);
    learned->cache->save(learned->cache->user, key, text, strlen(text));
}

vkf_status vkf__learned_cores(vkf__learned *learned, uint32_t cores)
{
    char device[VKF_DEVICE_LINE_BYTES];
    vkf__text_out out = {.host = learned->device->host};
    learned->cores = cores;
    if (!learned->keep || !learned->cache->save)
        return VKF_OK;
    vkf__device_line(&learned->device->plan.caps, device);
    vkf__text_add(&out, CORES_HEADER "\n%s\ncores %u\n", device, cores);
    if (out.status == VKF_OK)
        save_text(learned, "cores", out.text);
    vkf__free(out.host, out.text);
    return out.status;
}

static vkf_status format_verdicts(const vkf__learned *learned)
{
    const vkf__device *device = learned->device;
    vkf_status status = VKF_OK;
    char *text = NULL;
    VKF_TRY(vkf__verdicts_format(device->host, &device->plan.caps, &learned->verdicts, &text));
    save_text(learned, "verdicts", text);
fail:
    vkf__free(device->host, text);
    return status;
}

// Loads what others have saved since; a verdict that is known here prevails.
static vkf_status save_verdicts(vkf__learned *learned)
{
    VKF_RETURN_IF_ERROR(load_verdicts(learned));
    return format_verdicts(learned);
}

// Merges with what others have saved since; an entry that was measured here prevails.
static vkf_status save_tuned(vkf__learned *learned)
{
    const vkf__device *device = learned->device;
    vkf_status status = VKF_OK;
    vkf__tuned merged = {0};
    char *text = NULL;
    VKF_TRY(load_tuned(learned, &merged));
    VKF_TRY(copy_entries(device->host, vkf__learned_tuned(learned), &merged));
    VKF_TRY(vkf__tuned_format(device->host, &device->plan.caps, &merged, &text));
    save_text(learned, "tuned", text);
fail:
    vkf__tuned_free(device->host, &merged);
    vkf__free(device->host, text);
    return status;
}

// Merges with what others have saved since.
static vkf_status save_passed(vkf__learned *learned)
{
    const vkf__device *device = learned->device;
    char *text = NULL;
    VKF_RETURN_IF_ERROR(load_passed(learned));
    VKF_RETURN_IF_ERROR(vkf__passed_format(device->host, &device->plan.caps, &learned->passed, &text));
    save_text(learned, "passed", text);
    vkf__free(device->host, text);
    return VKF_OK;
}

static bool is_kept(const vkf__learned *learned)
{
    return learned->device && learned->keep && learned->lock_ready && learned->cache->save;
}

vkf_status vkf__learned_save(vkf__learned *learned)
{
    vkf_status status = VKF_OK;
    if (!is_kept(learned))
        return VKF_OK;
    pthread_mutex_lock(&learned->lock);
    if (atomic_exchange(&learned->unsaved_verdicts, false))
        VKF_TRY(save_verdicts(learned));
    if (atomic_exchange(&learned->unsaved_passed, false))
        VKF_TRY(save_passed(learned));
    if (atomic_exchange(&learned->unsaved_tuned, false))
        VKF_TRY(save_tuned(learned));
fail:
    pthread_mutex_unlock(&learned->lock);
    return status;
}

// The marks are one's own while a test runs, and of others. `ended` or `begun` is NULL.
static vkf_status save_marks(vkf__learned *learned, const vkf__variant *ended, const vkf__variant *begun)
{
    const vkf__device *device = learned->device;
    vkf_status status = VKF_OK;
    vkf__text_out out = {.host = device->host};
    VKF_TRY(load_marks(learned, ended, &out));
    if (begun) {
        const vkf__verdict_entry *entry = vkf__verdict_entry_of(&learned->verdicts, begun->kernel, begun->config);
        vkf__test_marks_add(&out, begun, atomic_load(&entry->strikes));
    }
    VKF_TRY(out.status);
    // What was found is kept first, and a mark that is counted goes only once its strike is kept.
    if (atomic_exchange(&learned->unsaved_verdicts, false))
        VKF_TRY(save_verdicts(learned));
    save_text(learned, "testing", out.text ? out.text : "");
fail:
    vkf__free(device->host, out.text);
    return status;
}

vkf_status vkf__learned_begin_test(vkf__learned *learned, const vkf__variant *variant)
{
    if (!is_kept(learned))
        return VKF_OK;
    pthread_mutex_lock(&learned->lock);
    const vkf_status status = save_marks(learned, NULL, variant);
    pthread_mutex_unlock(&learned->lock);
    return status;
}

vkf_status vkf__learned_end_test(vkf__learned *learned, const vkf__variant *variant)
{
    if (!is_kept(learned))
        return VKF_OK;
    pthread_mutex_lock(&learned->lock);
    const vkf_status status = save_marks(learned, variant, NULL);
    pthread_mutex_unlock(&learned->lock);
    return status;
}

void vkf__learned_forget(vkf__learned *learned)
{
    pthread_mutex_lock(&learned->lock);
    vkf__verdicts_forget(&learned->verdicts);
    vkf__passed_free(learned->device->host, &learned->passed);
    atomic_store(&learned->unsaved_verdicts, false);
    atomic_store(&learned->unsaved_passed, false);
    if (is_kept(learned)) {
        save_text(learned, "verdicts", "");
        save_text(learned, "passed", "");
        save_text(learned, "testing", "");
    }
    pthread_mutex_unlock(&learned->lock);
}

static void visit_entry(const vkf__verdicts *verdicts, const vkf__variant *v, vkf_verdict_fn visit, void *user)
{
    char name[160];
    const vkf__verdict_entry *entry = vkf__verdict_entry_of(verdicts, v->kernel, v->config);
    const vkf__verdict verdict = (vkf__verdict)atomic_load(&entry->verdict);
    const vkf__race race = vkf__race_get(verdicts, v->kernel, v->config);
    vkf_verdict line = {.variant = name, .reason = ""};
    (void)snprintf(name, sizeof name, "%s/%s", v->kernel->name, v->config->name);
    if (race == VKF_RACE_FASTER || race == VKF_RACE_SLOWER) {
        line.verdict = vkf__race_name(race);
        line.date = entry->race_date;
        visit(user, &line);
    }
    if (verdict == VKF_VERDICT_UNKNOWN)
        return;
    line.verdict = vkf__verdict_name(verdict);
    line.left_out = vkf__verdict_bad(vkf__verdict_get(verdicts, v->kernel, v->config));
    line.strikes = atomic_load(&entry->strikes);
    line.date = entry->date;
    line.reason = entry->reason ? entry->reason : "";
    visit(user, &line);
}

void vkf__learned_visit(vkf__learned *learned, vkf_verdict_fn visit, void *user)
{
    pthread_mutex_lock(&learned->lock);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count; c++)
            visit_entry(&learned->verdicts, &(vkf__variant){kernel, &kernel->configs[c]}, visit, user);
    }
    pthread_mutex_unlock(&learned->lock);
}

static vkf__passed_entry entry_of(const vkf__variant *variant, const uint32_t *spec)
{
    return (vkf__passed_entry){.variant = *variant, .constants = vkf__passed_hash(variant->kernel, spec)};
}

bool vkf__learned_has_passed(vkf__learned *learned, const vkf__variant *variant, const uint32_t *spec)
{
    const vkf__passed_entry entry = entry_of(variant, spec);
    pthread_mutex_lock(&learned->lock);
    const bool has = vkf__passed_has(&learned->passed, &entry);
    pthread_mutex_unlock(&learned->lock);
    return has;
}

vkf_status vkf__learned_passes(vkf__learned *learned, const vkf__variant *variant, const uint32_t *spec)
{
    const vkf__passed_entry entry = entry_of(variant, spec);
    pthread_mutex_lock(&learned->lock);
    vkf_status status = vkf__passed_add(learned->device->host, &learned->passed, &entry);
    atomic_store(&learned->unsaved_passed, true);
    pthread_mutex_unlock(&learned->lock);
    return status;
}

bool vkf__learned_begin_batch(vkf__learned *learned)
{
    char text[256];
    const vkf__process_mark own = vkf__process_mark_own();
    (void)snprintf(text, sizeof text, BATCH_HEADER "\nstarted %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n", own.id,
                   own.started, own.place.numbers, own.place.boot, own.place.host);
    pthread_mutex_lock(&learned->lock);
    const bool begins = !learned->one_by_one;
    if (begins && is_kept(learned))
        save_text(learned, "batch", text);
    pthread_mutex_unlock(&learned->lock);
    return begins;
}

void vkf__learned_end_batch(vkf__learned *learned)
{
    pthread_mutex_lock(&learned->lock);
    learned->one_by_one = false;
    if (is_kept(learned))
        save_text(learned, "batch", BATCH_HEADER "\nended\n");
    pthread_mutex_unlock(&learned->lock);
}
