// Tokenizers: text to token ids and back, as a Hugging Face tokenizer.json says. They run on the host alone and need
// neither a context nor a device.
//
// A file may hold whatever the library `tokenizers` writes: the models BPE (byte-level or with byte fallback),
// WordPiece, WordLevel and Unigram with their normalizers, pre-tokenizers, post-processors and decoders. Ids and
// offsets are those that `tokenizers` 0.23 gives, except for characters of a Unicode version newer than what utf8proc
// knows. An unknown part is VKF_ERROR_UNSUPPORTED, with a message that names the file, the key, and what is
// supported there.
//
// A directory with source.spm, target.spm and vocab.json is a Marian tokenizer, and gives what transformers'
// MarianTokenizer gives: tokens of the source language, and texts of the target language.
//
// A directory with neither of these has vocab.txt, vocab.json with merges.txt, spiece.model, sentencepiece.bpe.model or
// tokenizer.model. Its tokenizer_config.json or config.json names a class, and the results are those of transformers'
// fast tokenizer of that class: BERT's, DistilBERT's, MPNet's, GPT-2's, RoBERTa's, BART's, Qwen2's, T5's, XLM-R's,
// CamemBERT's or Llama's. Another class is VKF_ERROR_UNSUPPORTED.
//
// No file, whoever wrote it, can turn a short text into a very long one. Its normalizers, pre-tokenizers,
// post-processors and decoders have at most 128 steps each, nested at most 32 deep. From a text of n bytes they make at
// most 64 n + 65,536 bytes and as many tokens, and write at most six times as many bytes in all; the contents of all
// added tokens together may take 65,536 bytes more. A file with more steps, or deeper ones, is VKF_ERROR_FORMAT; a file
// that makes more of a text is VKF_ERROR_TOO_LARGE. Real files stay far below.
//
// Text need not be valid UTF-8: every longest part of it that begins no character counts as one U+FFFD, as with
// Python's bytes.decode(errors="replace"). Offsets are in bytes of the text as it was given. Zero bytes are characters.
#ifndef VKFORMER_TOKENIZER_H
#define VKFORMER_TOKENIZER_H

#include <vkformer/file_source.h>
#include <vkformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vkf_tokenizer vkf_tokenizer;

// Bytes of a text that somebody else owns.
typedef struct vkf_text {
    const char *bytes; // UTF-8
    size_t size_bytes;
} vkf_text;

typedef struct vkf_tokenizer_desc {
    const char *path;       // of a tokenizer.json, or of a directory
    vkf_message_fn message; // NULL: no messages; these and the allocator are as in a context's descriptor
    void *message_user;
    vkf_severity min_severity; // 0: all messages
    vkf_allocator allocator;
    const vkf_file_source *files; // optional: where the files are; `path` is then only a name for messages
} vkf_tokenizer_desc;

// Reads a tokenizer.json, or from a directory its tokenizer.json, or else Marian's three files, or else the files of
// older checkpoints. Ownership: the caller owns the tokenizer. A tokenizer never changes, so any
// number of threads may use it at once; message callback and allocator are then called from all of them.
// Statuses: INVALID_ARGUMENT, FILE, FORMAT and UNSUPPORTED (the message names file, key and reason),
// OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_tokenizer_load(const vkf_tokenizer_desc *desc, vkf_tokenizer **out_tokenizer);
VKF_API void vkf_tokenizer_destroy(vkf_tokenizer **tokenizer);

// What to do with texts that have too many tokens.
typedef enum vkf_truncation {
    VKF_TRUNCATION_FROM_FILE = 0, // as the file says; if it says nothing, texts are not cut
    VKF_TRUNCATION_NONE,
    VKF_TRUNCATION_LONGEST_FIRST, // of two sequences the longer one is cut, until both are equally long
    VKF_TRUNCATION_ONLY_FIRST,
    VKF_TRUNCATION_ONLY_SECOND,
    VKF_TRUNCATION_COUNT
} vkf_truncation;

typedef struct vkf_encode_options {
    bool no_special_tokens; // leave out what the file's post-processor adds around the text
    vkf_truncation truncation;
    uint32_t max_length; // in tokens, special ones counted; 0: the file's. Unused with NONE
    bool truncate_left;  // cut at the beginning; unused with FROM_FILE, where the file decides
    // With ONLY_FIRST and ONLY_SECOND, cut at the end: the text that is cut is divided into windows. Each has as many
    // of its tokens as there is room for, and successive ones have `stride` tokens in common. `window` chooses one of
    // them, from 0; vkf_encoding says how many there are.
    uint32_t window;
    uint32_t stride;
    uint32_t reserved[8]; // 0; room for members of later versions
} vkf_encode_options;

typedef struct vkf_text_range {
    size_t begin; // in bytes of the text that the token comes from
    size_t end;
} vkf_text_range;

// The tokens of one text or of a pair. `count` elements in every array.
typedef struct vkf_encoding {
    uint32_t count;
    int32_t *ids;
    int32_t *type_ids;
    uint8_t *special_tokens_mask; // 1: added around the text
    int8_t *sequences;            // 0: of the first text, 1: of the second, -1: of neither
    vkf_text_range *offsets;      // 0, 0 for tokens of neither text
    int32_t *words;          // number of the pre-tokenizer's part in its text, from 0; -1 for tokens of neither text
    uint32_t windows;        // of the text that is cut; 1 if none is cut
    vkf_allocator allocator; // private: where the arrays came from
    void *reserved[4];       // private: room for arrays of later versions
} vkf_encoding;

// The tokens of `text`, followed by those of `pair`; `pair` may be NULL for none. `options` may be NULL for
// defaults. An empty second text is there.
// Ownership: the caller's; vkf_encoding_free() releases what is in *out_encoding, even after the tokenizer is gone.
// Statuses: INVALID_ARGUMENT (also: ONLY_SECOND has no second text to cut, max_length leaves no room for the special
// tokens, or the window is beyond the last or has no room for more than `stride`), TOO_LARGE (a text has more than
// 1 GiB; the only sequence that may be cut is too short for it; the file's rules make too much of the text; a regular
// expression of the file would take too long on this text, or more than 64 MiB), FORMAT (the file has neither a token
// for a character nor an unknown token), OUT_OF_HOST_MEMORY.
VKF_API VKF_MUST_CHECK vkf_status vkf_tokenizer_encode(const vkf_tokenizer *tokenizer, const vkf_text *text,
                                                       const vkf_text *pair, const vkf_encode_options *options,
                                                       vkf_encoding *out_encoding);
// Accepts NULL and a zeroed encoding; leaves it zeroed.
VKF_API void vkf_encoding_free(vkf_encoding *encoding);

// The text that ids stand for, as the file's decoder writes it; an id of no token gives nothing. *inout_bytes is the
// capacity of out_text on entry, and the text's bytes without the terminating zero on return. The zero is always
// written, so the capacity must be one more than the text's bytes. out_text == NULL asks for the number of bytes,
// which is at least as many where blanks are taken out of it (vkf_embedder_get_tokenizer()).
// Statuses: INVALID_ARGUMENT, TOO_LARGE (capacity too small; the decoder makes too much of the tokens' texts),
// OUT_OF_HOST_MEMORY.
VKF_API VKF_MUST_CHECK vkf_status vkf_tokenizer_decode(const vkf_tokenizer *tokenizer, const int32_t *ids,
                                                       uint32_t count, bool skip_special_tokens, size_t *inout_bytes,
                                                       char *out_text);

// The id of the token with this zero-terminated text, as it stands in the file; -1 if there is none.
VKF_API int32_t vkf_tokenizer_token_to_id(const vkf_tokenizer *tokenizer, const char *token);
// The text of a token as it stands in the file; NULL for an id of no token. Lives as long as the tokenizer.
VKF_API const char *vkf_tokenizer_id_to_token(const vkf_tokenizer *tokenizer, int32_t id);
// One more than the highest id that an encoding or its padding can have, including special tokens that the file adds
// around texts but does not list in its vocabulary. An embedding table needs this many rows.
VKF_API uint32_t vkf_tokenizer_get_vocab_size(const vkf_tokenizer *tokenizer);

// What the file says about the lengths of batches. The library pads nothing itself.
typedef struct vkf_tokenizer_info {
    uint32_t max_length; // that texts are truncated to; 0: they are not
    bool pads;           // the file has padding, which the fields below describe
    int32_t pad_id;
    int32_t pad_type_id;
    bool pad_left;
    uint32_t pad_length;      // that every text is padded to; 0: the longest of the batch
    uint32_t pad_multiple_of; // 0: any length
} vkf_tokenizer_info;
VKF_INLINE void vkf_tokenizer_get_info(const vkf_tokenizer *tokenizer, vkf_tokenizer_info *out_info);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/tokenizer.h>

#endif
