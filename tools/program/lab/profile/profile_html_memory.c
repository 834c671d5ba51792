// The planned memory, by what it is for.
#include "lab/profile/profile_page.h"

static const struct {
    const char *key, *name, *class;
} memory_parts[] = {
    {"weights_bytes", "weights", "c2"},
    {"activations_bytes", "activations", "c1"},
    {"cache_bytes", "keys and values", "c3"},
    {"control_bytes", "sizes and parameters", "c4"},
};
enum { MEMORY_PARTS = sizeof memory_parts / sizeof memory_parts[0] };

static double part_bytes(const json_t *memory, size_t part)
{
    double bytes = vkf_page_number(memory, memory_parts[part].key);
    return bytes > 0 ? bytes : 0;
}

static double total_bytes(const json_t *memory)
{
    double total = 0;
    for (size_t i = 0; i < MEMORY_PARTS; i++)
        total += part_bytes(memory, i);
    return total;
}

static void each_part(const vkf_template_body *body, const void *user)
{
    const json_t *memory = user;
    double total = total_bytes(memory), x = 0;
    for (size_t i = 0; i < MEMORY_PARTS; i++) {
        double bytes = part_bytes(memory, i), percent = 100 * bytes / total;
        const vkf_slot slots[] = {
            {"class", .text = memory_parts[i].class},
            {"name", .text = memory_parts[i].name},
            {"bytes", .number = bytes},
            {"mib", .number = bytes / (1 << 20)},
            {"x", .number = x},
            {"percent", .number = percent},
            {0},
        };
        vkf_template_body_write(body, slots, NULL);
        x += percent;
    }
}

void vkf_page_memory(const vkf_template_body *body, const void *user)
{
    const vkf_profile_page *page = user;
    const json_t *memory = json_object_get(page->document, "memory");
    double total = total_bytes(memory);
    const vkf_slot slots[] = {
        {"total", .number = total},
        {"total_mib", .number = total / (1 << 20)},
        {"parts", .each = each_part},
        {0},
    };
    vkf_template_body_write(body, slots, memory);
}
