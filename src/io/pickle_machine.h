// The machine under the reader of pickles: a stack with marks, a memo, and the members of containers. Private to the
// reader.
#ifndef VKF_IO_PICKLE_MACHINE_H
#define VKF_IO_PICKLE_MACHINE_H

#include "io/pickle.h"

// A growing array of values.
typedef struct vkf__pickle_values {
    vkf__pickle_value *at;
    size_t count, capacity;
} vkf__pickle_values;

// How high the stack was at each MARK.
typedef struct vkf__pickle_marks {
    uint32_t *at;
    size_t count, capacity;
} vkf__pickle_marks;

struct vkf__pickle {
    vkf__host host;
    const char *path;
    vkf__pickle_world world;
    const uint8_t *text;
    size_t size_bytes, place;
    size_t opcode_place;
    vkf__pickle_values stack, memo, items;
    uint64_t memo_first; // the number of the memo's first value: 1 in Python 2's pickles, 0 in later ones
    vkf__pickle_marks marks;
    vkf__pickle_entry *entries;
    size_t entry_count, entry_capacity;
    uint32_t container_count;
};

// Status FORMAT, with the place of the opcode.
vkf_status vkf__pickle_bad(const vkf__pickle *p, const char *reason);

// Gives the next bytes of the text and moves p->place behind them. Status FORMAT: the text ends before.
VKF_MUST_CHECK vkf_status vkf__pickle_take(vkf__pickle *p, size_t size_bytes, const uint8_t **out_bytes);
VKF_MUST_CHECK vkf_status vkf__pickle_take_number(vkf__pickle *p, size_t size_bytes, uint64_t *out_number);

// Operations on the stack. Statuses: FORMAT (too deep; fewer values above the last mark than are needed),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pickle_push(vkf__pickle *p, vkf__pickle_value value);
VKF_MUST_CHECK vkf_status vkf__pickle_push_container(vkf__pickle *p, vkf__pickle_kind kind);
VKF_MUST_CHECK vkf_status vkf__pickle_need(const vkf__pickle *p, size_t count);
VKF_MUST_CHECK vkf_status vkf__pickle_pop(vkf__pickle *p);
VKF_MUST_CHECK vkf_status vkf__pickle_push_mark(vkf__pickle *p);
VKF_MUST_CHECK vkf_status vkf__pickle_pop_marked(vkf__pickle *p);

// Take the last `count` values of the stack, or those above the last mark. They become a tuple in their place, or go
// into the container beneath them. Statuses as above.
VKF_MUST_CHECK vkf_status vkf__pickle_make_tuple(vkf__pickle *p, size_t count);
VKF_MUST_CHECK vkf_status vkf__pickle_make_marked_tuple(vkf__pickle *p);
VKF_MUST_CHECK vkf_status vkf__pickle_add_members(vkf__pickle *p, vkf__pickle_kind kind, size_t count);
VKF_MUST_CHECK vkf_status vkf__pickle_add_marked(vkf__pickle *p, vkf__pickle_kind kind);

// The memo keeps the last value under the next number, or under the number in the text's next size_bytes bytes.
// vkf__pickle_get() pushes the value of such a number. Statuses: FORMAT (a number out of order, or without a value),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pickle_put_next(vkf__pickle *p);
VKF_MUST_CHECK vkf_status vkf__pickle_put_numbered(vkf__pickle *p, size_t size_bytes);
VKF_MUST_CHECK vkf_status vkf__pickle_get(vkf__pickle *p, size_t size_bytes);

#endif
