// Reads zip directories after PKWARE's APPNOTE.TXT: the end record (4.3.16), its zip64 form (4.3.14, 4.3.15), central
// headers (4.3.12), the zip64 extra field (4.5.3) and local headers (4.3.7).
#include "io/zip_directory.h"

#include <stdlib.h>
#include <string.h>

#define END_BYTES 22
#define MAX_COMMENT 65535
#define LOCATOR_BYTES 20
#define END64_BYTES 56
#define CENTRAL_BYTES 46
#define LOCAL_BYTES 30
#define MAX_DIRECTORY ((uint64_t)32 << 20)

#define END_SIGNATURE 0x06054b50u
#define LOCATOR_SIGNATURE 0x07064b50u
#define END64_SIGNATURE 0x06064b50u
#define CENTRAL_SIGNATURE 0x02014b50u
#define LOCAL_SIGNATURE 0x04034b50u

#define ENCRYPTED 1u
#define STORED 0u

struct vkf__zip {
    vkf__byte_source source;
    uint8_t *directory; // the central headers, into which names point
    vkf__zip_entry *entries;
    size_t count;
};

typedef struct extent {
    uint64_t count, offset, size_bytes;
} extent;

static vkf_status bad(const vkf__byte_source *source, const char *reason)
{
    return vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: not a zip archive that can be read: %s", source->path,
                     reason);
}

// ---- the end record

static vkf_status read_end64(const vkf__byte_source *source, uint64_t end_offset, extent *inout)
{
    uint8_t locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_offset < LOCATOR_BYTES)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__source_read(source, end_offset - LOCATOR_BYTES, locator, sizeof locator));
    if (vkf__load_le(locator, 4) != LOCATOR_SIGNATURE)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__source_read(source, vkf__load_le(locator + 8, 8), end, sizeof end));
    if (vkf__load_le(end, 4) != END64_SIGNATURE)
        return bad(source, "its zip64 end record is not where it should be");
    *inout = (extent){vkf__load_le(end + 32, 8), vkf__load_le(end + 48, 8), vkf__load_le(end + 40, 8)};
    return VKF_OK;
}

static vkf_status read_end(const vkf__byte_source *source, extent *out)
{
    vkf_status status = VKF_OK;
    uint8_t *tail = NULL;
    uint64_t most = END_BYTES + MAX_COMMENT, length = source->size_bytes < most ? source->size_bytes : most;
    uint64_t begin = source->size_bytes - length;
    if (length < END_BYTES)
        return bad(source, "it is too short");
    VKF_ALLOC(source->host, tail, length);
    VKF_TRY(vkf__source_read(source, begin, tail, (size_t)length));
    for (uint64_t at = length - END_BYTES + 1; at-- > 0;) {
        const uint8_t *end = tail + at;
        if (vkf__load_le(end, 4) != END_SIGNATURE || vkf__load_le(end + 20, 2) != length - at - END_BYTES)
            continue;
        *out = (extent){vkf__load_le(end + 10, 2), vkf__load_le(end + 16, 4), vkf__load_le(end + 12, 4)};
        status = read_end64(source, begin + at, out);
        goto fail;
    }
    status = bad(source, "its directory is missing; is it cut off?");
fail:
    vkf__free(source->host, tail);
    return status;
}

// ---- central headers

// Values that do not fit 32 bits are in the extra field, in this order.
static bool read_extra64(vkf__zip_entry *entry, const uint8_t *extra, size_t extra_bytes)
{
    uint64_t *const values[] = {&entry->size_bytes, &entry->packed_bytes, &entry->header_offset};
    while (extra_bytes >= 4) {
        size_t id = vkf__load_le(extra, 2), length = vkf__load_le(extra + 2, 2);
        extra += 4;
        extra_bytes -= 4;
        if (length > extra_bytes)
            return false;
        for (size_t i = 0; id == 1 && i < 3; i++) {
            if (*values[i] != UINT32_MAX)
                continue;
            if (length < 8)
                return false;
            *values[i] = vkf__load_le(extra, 8);
            extra += 8;
            extra_bytes -= 8;
            length -= 8;
        }
        extra += length;
        extra_bytes -= length;
    }
    return true;
}

// Reads the header at the beginning of `bytes`. Returns its length, or 0 when it is none.
static size_t read_header(const uint8_t *bytes, size_t size_bytes, vkf__zip_entry *out)
{
    if (size_bytes < CENTRAL_BYTES || vkf__load_le(bytes, 4) != CENTRAL_SIGNATURE)
        return 0;
    size_t name = vkf__load_le(bytes + 28, 2), extra = vkf__load_le(bytes + 30, 2), note = vkf__load_le(bytes + 32, 2);
    if (name + extra + note > size_bytes - CENTRAL_BYTES)
        return 0;
    *out = (vkf__zip_entry){
        .name = (const char *)bytes + CENTRAL_BYTES,
        .name_bytes = (uint32_t)name,
        .flags = (uint16_t)vkf__load_le(bytes + 8, 2),
        .method = (uint16_t)vkf__load_le(bytes + 10, 2),
        .packed_bytes = vkf__load_le(bytes + 20, 4),
        .size_bytes = vkf__load_le(bytes + 24, 4),
        .header_offset = vkf__load_le(bytes + 42, 4),
    };
    return read_extra64(out, bytes + CENTRAL_BYTES + name, extra) ? CENTRAL_BYTES + name + extra + note : 0;
}

static int compare_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int compare_names(const void *a, const void *b)
{
    const vkf__zip_entry *left = a, *right = b;
    return compare_text(left->name, left->name_bytes, right->name, right->name_bytes);
}

static vkf_status read_entries(vkf__zip *zip, const extent *at)
{
    const vkf__byte_source *source = &zip->source;
    uint64_t sum = 0;
    size_t place = 0, bytes = (size_t)at->size_bytes;
    VKF_ALLOC_OR_RETURN(source->host, zip->entries, at->count);
    for (; zip->count < at->count; zip->count++) {
        vkf__zip_entry *entry = &zip->entries[zip->count];
        size_t length = read_header(zip->directory + place, bytes - place, entry);
        if (length == 0)
            return bad(source, "its directory is damaged");
        place += length;
        // Otherwise entries could share bytes, and these would be read many times over.
        if (entry->packed_bytes > source->size_bytes - sum)
            return bad(source, "its entries are longer than the file");
        sum += entry->packed_bytes;
    }
    qsort(zip->entries, zip->count, sizeof *zip->entries, compare_names);
    for (size_t i = 1; i < zip->count; i++)
        if (compare_names(&zip->entries[i - 1], &zip->entries[i]) == 0)
            return bad(source, "two of its entries have the same name");
    return VKF_OK;
}

vkf_status vkf__zip_open(const vkf__byte_source *source, vkf__zip **out_zip)
{
    vkf_status status = VKF_OK;
    vkf__zip *zip = NULL;
    extent at = {0};
    VKF_TRY(read_end(source, &at));
    if (at.count == 0 || at.size_bytes > MAX_DIRECTORY || at.count > at.size_bytes / CENTRAL_BYTES)
        return bad(source, "its directory is empty, or longer than that of any model");
    if (at.offset > source->size_bytes || at.size_bytes > source->size_bytes - at.offset)
        return bad(source, "its directory is not in the file; is it cut off?");
    VKF_ALLOC(source->host, zip, 1);
    zip->source = *source;
    VKF_ALLOC(source->host, zip->directory, at.size_bytes);
    VKF_TRY(vkf__source_read(source, at.offset, zip->directory, (size_t)at.size_bytes));
    VKF_TRY(read_entries(zip, &at));
    *out_zip = zip;
    zip = NULL;
fail:
    vkf__zip_close(&zip);
    return status;
}

void vkf__zip_close(vkf__zip **zip)
{
    if (!*zip)
        return;
    const vkf__host *host = (*zip)->source.host;
    vkf__free(host, (*zip)->directory);
    vkf__free(host, (*zip)->entries);
    vkf__free(host, *zip);
    *zip = NULL;
}

size_t vkf__zip_count(const vkf__zip *zip)
{
    return zip->count;
}

const vkf__zip_entry *vkf__zip_at(const vkf__zip *zip, size_t index)
{
    return &zip->entries[index];
}

const vkf__zip_entry *vkf__zip_find(const vkf__zip *zip, const char *name, size_t name_bytes)
{
    const vkf__zip_entry wanted = {.name = name, .name_bytes = (uint32_t)name_bytes};
    return bsearch(&wanted, zip->entries, zip->count, sizeof *zip->entries, compare_names);
}

vkf_status vkf__zip_place(const vkf__zip *zip, const vkf__zip_entry *entry, uint64_t *out_offset)
{
    const vkf__byte_source *source = &zip->source;
    uint8_t local[LOCAL_BYTES];
    if (entry->method != STORED || (entry->flags & ENCRYPTED) || entry->packed_bytes != entry->size_bytes)
        return vkf__fail(source->host, VKF_ERROR_UNSUPPORTED,
                         "%s: its entries are compressed or encrypted; torch.save stores them as they are: unpack it",
                         source->path);
    VKF_RETURN_IF_ERROR(vkf__source_read(source, entry->header_offset, local, sizeof local));
    if (vkf__load_le(local, 4) != LOCAL_SIGNATURE)
        return bad(source, "an entry is not where the directory says");
    uint64_t skip = LOCAL_BYTES + vkf__load_le(local + 26, 2) + vkf__load_le(local + 28, 2);
    uint64_t left = source->size_bytes - entry->header_offset; // cannot underflow: the header was just read
    if (skip > left || entry->size_bytes > left - skip)
        return bad(source, "an entry reaches beyond the file");
    *out_offset = entry->header_offset + skip;
    return VKF_OK;
}
