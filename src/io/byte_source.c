// Reads from memory or from an open file, and puts little-endian numbers together.
#include "io/byte_source.h"

#include <string.h>

vkf_status vkf__source_read(const vkf__byte_source *source, uint64_t offset, void *out_bytes, size_t size_bytes)
{
    if (offset > source->size_bytes || size_bytes > source->size_bytes - offset)
        return vkf__fail(source->host, VKF_ERROR_FORMAT, "%s: ends before byte %llu; is it cut off?", source->path,
                         (unsigned long long)offset + size_bytes);
    if (size_bytes == 0)
        return VKF_OK;
    if (source->file)
        return vkf__file_read_at(source->file, offset, out_bytes, size_bytes);
    memcpy(out_bytes, source->data + offset, size_bytes);
    return VKF_OK;
}

uint64_t vkf__load_le(const uint8_t *bytes, size_t size_bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size_bytes; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}
