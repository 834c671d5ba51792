// Opens a plug-in, runs it and closes it, as often as it is told, and says what the process has grown by meanwhile.
//
// plugin_host PLUGIN [TIMES]
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*run_fn)(float *out_first);

// The resident memory in KiB, and how many mappings name the plug-in's file; 0 where the system does not tell.
static void look(const char *plugin, long *out_resident, long *out_mappings)
{
    char line[4096];
    FILE *file = fopen("/proc/self/status", "r");
    *out_resident = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            *out_resident = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    file = fopen("/proc/self/maps", "r");
    *out_mappings = 0;
    while (file && fgets(line, sizeof line, file))
        *out_mappings += strstr(line, plugin) != NULL;
    if (file)
        fclose(file);
}

static int run_once(const char *path)
{
    float first = 0;
    run_fn run = NULL;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        fprintf(stderr, "plugin_host: %s\n", dlerror());
        return 1;
    }
    void *symbol = dlsym(plugin, "plugin_run");
    memcpy(&run, &symbol, sizeof run); // C has no conversion from an object's pointer to a function's
    const int status = run ? run(&first) : -1;
    const int closed = dlclose(plugin);
    if (status != 0 || first != 2.0F || closed != 0) {
        fprintf(stderr, "plugin_host: status %d, %g instead of 2, dlclose %d\n", status, first, closed);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    enum { WARM_UP = 10, MAX_GROWTH_KIB = 16 * 1024 };
    long before = 0, after = 0, mappings = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: plugin_host PLUGIN [TIMES]\n");
        return 2;
    }
    const long times = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    for (long i = 0; i < times; i++) {
        if (run_once(argv[1]) != 0)
            return EXIT_FAILURE;
        if (i + 1 == WARM_UP)
            look(argv[1], &before, &mappings);
    }
    look(argv[1], &after, &mappings);
    printf("opened and closed %ld times; %ld KiB resident after %d times, %ld KiB now; %ld mappings of it are left\n",
           times, before, (int)WARM_UP, after, mappings);
    const int grew = times > WARM_UP && after - before > MAX_GROWTH_KIB;
    return grew || mappings > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
