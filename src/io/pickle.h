// Reads Python's pickles as far as they hold data: numbers, strings, tuples, lists and dicts. When a pickle imports or
// calls something, the reader asks the caller, who knows it by name or refuses it. Nothing is ever executed.
#ifndef VKF_IO_PICKLE_H
#define VKF_IO_PICKLE_H

#include "base/host.h"

typedef enum vkf__pickle_kind {
    VKF_PICKLE_NONE = 0,
    VKF_PICKLE_BOOL,
    VKF_PICKLE_INTEGER,
    VKF_PICKLE_OTHER,  // a float, bytes, or an integer of more than 64 bits: its value is not kept
    VKF_PICKLE_STRING, // bytes [first, first + count) of the text
    VKF_PICKLE_TUPLE,  // items [first, first + count)
    VKF_PICKLE_LIST,   // container number `first`
    VKF_PICKLE_DICT,
    VKF_PICKLE_GLOBAL, // the caller's: what was imported
    VKF_PICKLE_OBJECT, // the caller's: what a call or a persistent id stands for
} vkf__pickle_kind;

typedef struct vkf__pickle_value {
    vkf__pickle_kind kind;
    union {
        int64_t integer; // 0 or 1 for a BOOL; for the caller's kinds, what it likes
        struct {
            uint32_t first, count;
        };
    };
} vkf__pickle_value;

// A member of a dict or a list. The array of all entries is in the order in which they were put in.
typedef struct vkf__pickle_entry {
    uint32_t container;
    vkf__pickle_value key, value; // the key is NONE in a list
} vkf__pickle_entry;

typedef struct vkf__pickle vkf__pickle;

// What the caller knows. Each function may refuse, with a message and a status of its own.
typedef struct vkf__pickle_world {
    void *user;
    // `name` is "module.name", printable and terminated.
    vkf_status (*import)(void *user, const char *name, vkf__pickle_value *out_value);
    vkf_status (*call)(void *user, vkf__pickle *pickle, vkf__pickle_value callee, vkf__pickle_value arguments,
                       vkf__pickle_value *out_value); // arguments: a TUPLE
    vkf_status (*persistent)(void *user, const vkf__pickle *pickle, vkf__pickle_value id, vkf__pickle_value *out_value);
} vkf__pickle_world;

#define VKF_PICKLE_MAX_BYTES ((size_t)16 << 20)

// Opens pickles that follow each other in `text`, at most VKF_PICKLE_MAX_BYTES in all. The text, `path` (which only
// serves the messages) and world->user must outlive *out_pickle. Memory is in proportion to the text. Status
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pickle_open(const vkf__host *host, const char *path, const uint8_t *text,
                                           size_t text_bytes, const vkf__pickle_world *world, vkf__pickle **out_pickle);
void vkf__pickle_close(vkf__pickle **pickle);

// Reads the next pickle. Statuses: FORMAT (names the byte), UNSUPPORTED (an opcode that data does not need, or
// attributes of something that is no dict), OUT_OF_HOST_MEMORY, and those of `world`.
VKF_MUST_CHECK vkf_status vkf__pickle_next(vkf__pickle *pickle, vkf__pickle_value *out_value);
size_t vkf__pickle_place(const vkf__pickle *pickle); // where the next one begins

// These work on all pickles read so far: values of an earlier one stay valid.
const vkf__pickle_value *vkf__pickle_items(const vkf__pickle *pickle, vkf__pickle_value tuple); // NULL for an empty one
const vkf__pickle_entry *vkf__pickle_entries(const vkf__pickle *pickle, size_t *out_count);
const char *vkf__pickle_text(const vkf__pickle *pickle, vkf__pickle_value string); // not terminated
bool vkf__pickle_is(const vkf__pickle *pickle, vkf__pickle_value value, const char *string);
// Whether all of a text is printable ASCII, as names are. Anything else would spoil messages.
bool vkf__is_printable(const char *text, size_t size_bytes);
vkf__pickle_value vkf__pickle_new_dict(vkf__pickle *pickle); // for calls that make one

#endif
