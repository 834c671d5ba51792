// vocabulary.json: two lists of token strings with greedy longest-match encoding.
//
// {"source": {"tokens": [...], "lowercase": true, "append_eos": true}, "target": {"tokens": [...]}}; the id of a token
// is its place in the list; ids 0 to 3 are "<pad>", "<bos>", "<eos>", "<unk>" in both. "lowercase" and "append_eos" are
// false when absent.
#ifndef VKF_IO_TOKEN_TABLE_H
#define VKF_IO_TOKEN_TABLE_H

#include "base/host.h"

typedef struct vkf__token_table vkf__token_table; // one list

typedef struct vkf__token_tables {
    vkf__token_table *source;
    vkf__token_table *target;
} vkf__token_tables;

// The ids of the special tokens.
enum { VKF_TOKEN_PAD = 0, VKF_TOKEN_BOS = 1, VKF_TOKEN_EOS = 2, VKF_TOKEN_UNK = 3, VKF_TOKEN_SPECIAL_COUNT = 4 };

// The tables keep a copy of *host. Statuses: FILE, FORMAT (not an object, list missing, empty or duplicate token,
// special tokens wrong), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__token_tables_load(const vkf__host *host, const char *path,
                                                 vkf__token_tables *out_tables);
// The same for text that is in memory already; `path` only serves the messages.
VKF_MUST_CHECK vkf_status vkf__token_tables_parse(const vkf__host *host, const char *path, const char *text,
                                                  size_t text_bytes, vkf__token_tables *out_tables);
void vkf__token_tables_free(vkf__token_tables *tables);

uint32_t vkf__token_table_count(const vkf__token_table *table);
const char *vkf__token_table_text(const vkf__token_table *table, int32_t id); // NULL when there is no such id

// Encodes by greedy longest match. ASCII is lowercased first when the table says so. Each code point (or invalid byte)
// without a match becomes one <unk>. eos is appended when the table says so. Special tokens are never matched in text.
// *inout_count as in vkf_vocabulary_encode(). Status TOO_LARGE when the capacity is too small: then *inout_count is the
// number needed and nothing was written to out_ids. INVALID_ARGUMENT for a text of 4 GiB or more.
VKF_MUST_CHECK vkf_status vkf__token_table_encode(const vkf__token_table *table, const char *text, size_t text_bytes,
                                                  uint32_t *inout_count, int32_t *out_ids);
// Concatenates the tokens of the ids. Ids 0 to 3 are skipped; unknown ids are INVALID_ARGUMENT. *inout_bytes is the
// capacity on entry, including the terminating zero, and the length without it on return; out_text == NULL asks for the
// length alone. Status TOO_LARGE when the capacity is too small: then *inout_bytes is the length and nothing was
// written to out_text.
VKF_MUST_CHECK vkf_status vkf__token_table_decode(const vkf__token_table *table, const int32_t *ids, uint32_t count,
                                                  size_t *inout_bytes, char *out_text);

#endif
