// Writes SentencePiece's model files, as small as a test wants them.
#ifndef VKF_TESTS_SPM_FIXTURE_H
#define VKF_TESTS_SPM_FIXTURE_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "text/marian.h"

typedef struct spm_writer {
    uint8_t bytes[8192];
    size_t count;
} spm_writer;

static inline void spm_put(spm_writer *to, const void *bytes, size_t count)
{
    assert(to->count + count <= sizeof to->bytes);
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

static inline void spm_put_varint(spm_writer *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        spm_put(to, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    spm_put(to, &(uint8_t){(uint8_t)value}, 1);
}

static inline void spm_put_number(spm_writer *to, uint32_t field, uint64_t value)
{
    spm_put_varint(to, field * 8u);
    spm_put_varint(to, value);
}

static inline void spm_put_bytes(spm_writer *to, uint32_t field, const void *bytes, size_t count)
{
    spm_put_varint(to, field * 8u + 2u);
    spm_put_varint(to, count);
    spm_put(to, bytes, count);
}

static inline void spm_put_piece(spm_writer *to, const char *text, float score, vkf__spm_type type)
{
    spm_writer piece = {.count = 0};
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    const uint8_t little_endian[] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
    spm_put_bytes(&piece, 1, text, strlen(text));
    spm_put_varint(&piece, 2 * 8 + 5);
    spm_put(&piece, little_endian, sizeof little_endian);
    if (type != VKF_SPM_NORMAL)
        spm_put_number(&piece, 3, type);
    spm_put_bytes(to, 1, piece.bytes, piece.count);
}

// A message within a message.
static inline void spm_put_message(spm_writer *to, uint32_t field, const spm_writer *message)
{
    spm_put_bytes(to, field, message->bytes, message->count);
}

static inline vkf__spm_text spm_text(const spm_writer *writer)
{
    return (vkf__spm_text){(const char *)writer->bytes, writer->count};
}

static inline vkf_status spm_parse_marian(const vkf__host *host, const spm_writer *source, const spm_writer *target,
                                          const char *vocabulary, vkf__tokenizer *out_tokenizer)
{
    const vkf__marian_files files = {{"d/source.spm", "d/target.spm", "d/vocab.json"},
                                     {spm_text(source), spm_text(target), {vocabulary, strlen(vocabulary)}}};
    return vkf__marian_parse(host, &files, out_tokenizer);
}

#endif
