// The stack, the marks and the memo of the reader of pickles.
#include "io/pickle_machine.h"

#include "io/byte_source.h"

#define MAX_STACK 65536 // Python's pickler adds 1000 members at once

vkf_status vkf__pickle_bad(const vkf__pickle *p, const char *reason)
{
    return vkf__fail(&p->host, VKF_ERROR_FORMAT, "%s: not a pickle that can be read: %s (byte %zu of it)", p->path,
                     reason, p->opcode_place);
}

static vkf_status push_to(const vkf__pickle *p, vkf__pickle_values *v, vkf__pickle_value value)
{
    void *array = v->at;
    VKF_RETURN_IF_ERROR(vkf__grow(&p->host, &array, sizeof *v->at, v->count, &v->capacity, v->count + 1));
    v->at = array;
    v->at[v->count++] = value;
    return VKF_OK;
}

vkf_status vkf__pickle_push(vkf__pickle *p, vkf__pickle_value value)
{
    if (p->stack.count == MAX_STACK)
        return vkf__pickle_bad(p, "its stack is deeper than that of any dict of tensors");
    return push_to(p, &p->stack, value);
}

// The number of values pushed since the last MARK.
static size_t above_mark(const vkf__pickle *p)
{
    return p->stack.count - (p->marks.count > 0 ? p->marks.at[p->marks.count - 1] : 0);
}

vkf_status vkf__pickle_need(const vkf__pickle *p, size_t count)
{
    return above_mark(p) < count ? vkf__pickle_bad(p, "an opcode wants more values than there are") : VKF_OK;
}

vkf_status vkf__pickle_take(vkf__pickle *p, size_t size_bytes, const uint8_t **out_bytes)
{
    if (size_bytes > p->size_bytes - p->place)
        return vkf__pickle_bad(p, "it ends in the middle; is the file cut off?");
    *out_bytes = p->text + p->place;
    p->place += size_bytes;
    return VKF_OK;
}

vkf_status vkf__pickle_take_number(vkf__pickle *p, size_t size_bytes, uint64_t *out_number)
{
    const uint8_t *bytes = NULL;
    VKF_RETURN_IF_ERROR(vkf__pickle_take(p, size_bytes, &bytes));
    *out_number = vkf__load_le(bytes, size_bytes);
    return VKF_OK;
}

// ---- marks, tuples and members

vkf_status vkf__pickle_push_mark(vkf__pickle *p)
{
    void *array = p->marks.at;
    if (p->marks.count == MAX_STACK)
        return vkf__pickle_bad(p, "it nests deeper than any dict of tensors");
    VKF_RETURN_IF_ERROR(
        vkf__grow(&p->host, &array, sizeof *p->marks.at, p->marks.count, &p->marks.capacity, p->marks.count + 1));
    p->marks.at = array;
    p->marks.at[p->marks.count++] = (uint32_t)p->stack.count;
    return VKF_OK;
}

// Drops the last MARK; the last *out_count values of the stack were above it.
static vkf_status pop_mark(vkf__pickle *p, size_t *out_count)
{
    if (p->marks.count == 0)
        return vkf__pickle_bad(p, "an opcode wants a mark and there is none");
    *out_count = above_mark(p);
    p->marks.count--;
    return VKF_OK;
}

vkf_status vkf__pickle_make_tuple(vkf__pickle *p, size_t count)
{
    vkf_status status = VKF_OK;
    const vkf__pickle_value tuple = {
        .kind = VKF_PICKLE_TUPLE, .first = (uint32_t)p->items.count, .count = (uint32_t)count};
    VKF_RETURN_IF_ERROR(vkf__pickle_need(p, count));
    for (size_t i = p->stack.count - count; i < p->stack.count; i++)
        VKF_RETURN_IF_ERROR(push_to(p, &p->items, p->stack.at[i]));
    p->stack.count -= count;
    status = vkf__pickle_push(p, tuple);
    return status;
}

static vkf_status add_entry(vkf__pickle *p, uint32_t container, const vkf__pickle_value *key,
                            const vkf__pickle_value *value)
{
    void *array = p->entries;
    VKF_RETURN_IF_ERROR(
        vkf__grow(&p->host, &array, sizeof *p->entries, p->entry_count, &p->entry_capacity, p->entry_count + 1));
    p->entries = array;
    vkf__pickle_entry *entry = &p->entries[p->entry_count++];
    *entry = (vkf__pickle_entry){.container = container, .value = *value};
    if (key)
        entry->key = *key;
    return VKF_OK;
}

// Moves the last `count` values of the stack into the container beneath them.
vkf_status vkf__pickle_add_members(vkf__pickle *p, vkf__pickle_kind kind, size_t count)
{
    size_t step = kind == VKF_PICKLE_DICT ? 2 : 1;
    VKF_RETURN_IF_ERROR(vkf__pickle_need(p, count + 1));
    const vkf__pickle_value *members = &p->stack.at[p->stack.count - count], container = members[-1];
    if (container.kind != kind || count % step != 0)
        return vkf__pickle_bad(p, "members for what is no list or no dict");
    for (size_t i = 0; i < count; i += step)
        VKF_RETURN_IF_ERROR(add_entry(p, container.first, step == 2 ? &members[i] : NULL, &members[i + step - 1]));
    p->stack.count -= count;
    return VKF_OK;
}

vkf_status vkf__pickle_add_marked(vkf__pickle *p, vkf__pickle_kind kind)
{
    size_t count = 0;
    vkf_status status = pop_mark(p, &count);
    return status == VKF_OK ? vkf__pickle_add_members(p, kind, count) : status;
}

vkf_status vkf__pickle_make_marked_tuple(vkf__pickle *p)
{
    size_t count = 0;
    vkf_status status = pop_mark(p, &count);
    return status == VKF_OK ? vkf__pickle_make_tuple(p, count) : status;
}

vkf_status vkf__pickle_pop_marked(vkf__pickle *p)
{
    size_t count = 0;
    vkf_status status = pop_mark(p, &count);
    p->stack.count -= count;
    return status;
}

vkf_status vkf__pickle_pop(vkf__pickle *p)
{
    vkf_status status = vkf__pickle_need(p, 1);
    p->stack.count -= status == VKF_OK;
    return status;
}

vkf_status vkf__pickle_push_container(vkf__pickle *p, vkf__pickle_kind kind)
{
    vkf__pickle_value value = vkf__pickle_new_dict(p);
    value.kind = kind;
    return vkf__pickle_push(p, value);
}

// ---- the memo

static vkf_status put(vkf__pickle *p, uint64_t number)
{
    vkf_status status = VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__pickle_need(p, 1));
    if (p->memo.count == 0)
        p->memo_first = number == 1;
    // Every pickler numbers its values in order. Without this check, a single number in a file could claim any amount
    // of memory.
    if (number < p->memo_first || number - p->memo_first > p->memo.count)
        return vkf__pickle_bad(p, "it remembers values out of order");
    if (number - p->memo_first < p->memo.count)
        p->memo.at[number - p->memo_first] = p->stack.at[p->stack.count - 1];
    else
        status = push_to(p, &p->memo, p->stack.at[p->stack.count - 1]);
    return status;
}

vkf_status vkf__pickle_put_next(vkf__pickle *p)
{
    return put(p, p->memo_first + p->memo.count);
}

vkf_status vkf__pickle_put_numbered(vkf__pickle *p, size_t size_bytes)
{
    uint64_t number = 0;
    vkf_status status = vkf__pickle_take_number(p, size_bytes, &number);
    return status == VKF_OK ? put(p, number) : status;
}

vkf_status vkf__pickle_get(vkf__pickle *p, size_t size_bytes)
{
    vkf_status status = VKF_OK;
    uint64_t number = 0;
    VKF_RETURN_IF_ERROR(vkf__pickle_take_number(p, size_bytes, &number));
    if (number < p->memo_first || number - p->memo_first >= p->memo.count)
        return vkf__pickle_bad(p, "it asks for a value that it has not remembered");
    status = vkf__pickle_push(p, p->memo.at[number - p->memo_first]);
    return status;
}
