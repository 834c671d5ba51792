// Writes a profile as CSV.
#include "lab/profile/profile_output.h"
#include "output/visible_text.h"

// Labels, kernels and the like are names without commas or quotes, so nothing needs escaping.
void vkf_profile_print_csv(FILE *out, const json_t *document)
{
    static const char *const texts[] = {"submission", "part", "label", "kernel", "config"};
    static const char *const numbers[] = {"calls", "flops", "bytes_read", "bytes_written", "roof_fraction"};
    static const char *const samples[] = {"median", "min", "max", "iqr"};
    const json_t *row, *dispatches = json_object_get(document, "dispatches");
    size_t i;
    fputs("submission,part,label,kernel,config,calls,flops,bytes_read,bytes_written,roof_fraction,bound,"
          "gpu_ns_median,gpu_ns_min,gpu_ns_max,gpu_ns_iqr\n",
          out);
    json_array_foreach(dispatches, i, row)
    {
        const json_t *bound = json_object_get(row, "bound"), *gpu_ns = json_object_get(row, "gpu_ns");
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
            vkf_print_on(out, "%s%s", t ? "," : "", json_string_value(json_object_get(row, texts[t])));
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
            const json_t *value = json_object_get(row, numbers[n]);
            fputc(',', out);
            if (json_is_number(value))
                fprintf(out, "%.9g", json_number_value(value));
        }
        vkf_print_on(out, ",%s", json_is_string(bound) ? json_string_value(bound) : "");
        for (size_t s = 0; s < sizeof samples / sizeof samples[0]; s++)
            fprintf(out, ",%.9g", json_number_value(json_object_get(gpu_ns, samples[s])));
        fputc('\n', out);
    }
}
