// Writes PNG images with a palette, uncompressed, so that no library is needed.
#include "attention/weight_image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

// A blue that is visible on white and on black.
#define RED 0x2f
#define GREEN 0x81
#define BLUE 0xf7
#define STORED_BLOCK 65535u // the most bytes of an uncompressed block: RFC 1951, 3.2.4

uint8_t vkf_weight_shade(float weight)
{
    if (!(weight >= 0 && weight <= 1.0001f))
        return VKF_WEIGHT_NONE;
    return (uint8_t)lround(VKF_WEIGHT_SHADES * sqrt(fmin((double)weight, 1.0)));
}

typedef struct bytes {
    uint8_t *data;
    size_t count;
} bytes;

static void put(bytes *b, const void *data, size_t count)
{
    memcpy(b->data + b->count, data, count);
    b->count += count;
}

static void put_u32(bytes *b, uint32_t value)
{
    const uint8_t big_endian[] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                                  (uint8_t)value};
    put(b, big_endian, sizeof big_endian);
}

// The checksum of PNG's chunks.
static uint32_t crc32_of(const uint8_t *data, size_t count)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < count; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

// The checksum of zlib's format.
static uint32_t adler32_of(const uint8_t *data, size_t count)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < count; i++) {
        a = (a + data[i]) % 65521u;
        b = (b + a) % 65521u;
    }
    return b << 16 | a;
}

// Begins a chunk: leaves room for its length and writes its type; its data begin at *out_begin.
static void begin_chunk(bytes *b, const char *type, size_t *out_begin)
{
    put_u32(b, 0);
    put(b, type, 4);
    *out_begin = b->count;
}

static void end_chunk(bytes *b, size_t begin)
{
    size_t count = b->count - begin;
    bytes length = {b->data + begin - 8, 0};
    put_u32(&length, (uint32_t)count);
    put_u32(b, crc32_of(b->data + begin - 4, count + 4));
}

static void put_head(bytes *b, uint32_t width, uint32_t height)
{
    static const uint8_t kind[] = {8, 3, 0, 0, 0}; // bits, a palette, deflate, filters, not interlaced
    static const uint8_t colour[] = {RED, GREEN, BLUE}, none[] = {0xe0, 0x21, 0x8a};
    size_t begin = 0;
    put(b, "\x89PNG\r\n\x1a\n", 8);
    begin_chunk(b, "IHDR", &begin);
    put_u32(b, width);
    put_u32(b, height);
    put(b, kind, sizeof kind);
    end_chunk(b, begin);
    begin_chunk(b, "PLTE", &begin);
    for (int shade = 0; shade <= VKF_WEIGHT_SHADES; shade++)
        put(b, colour, sizeof colour);
    put(b, none, sizeof none);
    end_chunk(b, begin);
    begin_chunk(b, "tRNS", &begin);
    for (int shade = 0; shade <= VKF_WEIGHT_NONE; shade++)
        put(b, &(uint8_t){(uint8_t)(shade < VKF_WEIGHT_SHADES ? shade : 255)}, 1);
    end_chunk(b, begin);
}

// Writes zlib's format with stored blocks. Rows are a filter byte and the pixels.
static void put_pixels(bytes *b, const uint8_t *rows, size_t count)
{
    size_t begin = 0;
    begin_chunk(b, "IDAT", &begin);
    put(b, "\x78\x01", 2);
    for (size_t first = 0; first < count; first += STORED_BLOCK) {
        size_t part = count - first < STORED_BLOCK ? count - first : STORED_BLOCK;
        const uint8_t head[] = {first + part == count, (uint8_t)part, (uint8_t)(part >> 8), (uint8_t)~part,
                                (uint8_t)(~part >> 8)};
        put(b, head, sizeof head);
        put(b, rows + first, part);
    }
    put_u32(b, adler32_of(rows, count));
    end_chunk(b, begin);
    begin_chunk(b, "IEND", &begin);
    end_chunk(b, begin);
}

static void write_base64(FILE *out, const uint8_t *data, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        uint32_t group = (uint32_t)data[i] << 16;
        group |= i + 1 < count ? (uint32_t)data[i + 1] << 8 : 0;
        group |= i + 2 < count ? data[i + 2] : 0;
        putc(digits[group >> 18], out);
        putc(digits[group >> 12 & 63], out);
        putc(i + 1 < count ? digits[group >> 6 & 63] : '=', out);
        putc(i + 2 < count ? digits[group & 63] : '=', out);
    }
}

bool vkf_weight_image_write(FILE *out, const float *weights, uint32_t width, uint32_t height)
{
    size_t count = 0, room = 0;
    uint8_t *rows = NULL;
    bytes png = {0};
    // Each stored block has five bytes before it; 2048 bytes are more than all the rest.
    bool fits = vkf__mul_size((size_t)width + 1, height, &count) && count < SIZE_MAX / 2;
    if (fits) {
        room = count + 5 * (count / STORED_BLOCK + 1) + 2048;
        rows = malloc(count);
        png.data = malloc(room);
    }
    if (rows && png.data) {
        for (size_t y = 0; y < height; y++) {
            uint8_t *row = rows + y * ((size_t)width + 1);
            row[0] = 0; // no filter
            for (size_t x = 0; x < width; x++)
                row[1 + x] = vkf_weight_shade(weights[y * width + x]);
        }
        put_head(&png, width, height);
        put_pixels(&png, rows, count);
        fputs("data:image/png;base64,", out);
        write_base64(out, png.data, png.count);
    }
    bool done = rows && png.data;
    free(rows);
    free(png.data);
    return done;
}
