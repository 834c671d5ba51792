// The reader of pickles: a machine with a stack and a memo, as Python's pickletools describes it, without the opcodes
// that make instances of classes. Nothing recurses, every opcode pushes at most one value, and tuples and containers
// take their members off the stack. So the length of the text bounds the memory that it takes.
#include "io/pickle_machine.h"

#include <assert.h>
#include <string.h>

#define NAME_BYTES 256

typedef enum opcode {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    BINPERSID = 'Q',
    REDUCE = 'R',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    BINUNICODE = 'X',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    SETITEMS = 'u',
    EMPTY_TUPLE = ')',
    EMPTY_LIST = ']',
    EMPTY_DICT = '}',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    PROTO = 0x80,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    STACK_GLOBAL = 0x93,
    MEMOIZE = 0x94,
    FRAME = 0x95,
} opcode;

// ---- opcodes that push

static vkf_status push_string(vkf__pickle *p, vkf__pickle_kind kind, size_t length_bytes)
{
    vkf_status status = VKF_OK;
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    VKF_RETURN_IF_ERROR(vkf__pickle_take_number(p, length_bytes, &length));
    if (length > p->size_bytes)
        return vkf__pickle_bad(p, "a string is longer than the pickle");
    uint32_t first = (uint32_t)p->place;
    VKF_RETURN_IF_ERROR(vkf__pickle_take(p, (size_t)length, &bytes));
    status = vkf__pickle_push(p, (vkf__pickle_value){.kind = kind, .first = first, .count = (uint32_t)length});
    return status;
}

// Pushes an integer in two's complement, of any length.
static vkf_status push_long(vkf__pickle *p, size_t length_bytes)
{
    vkf_status status = VKF_OK;
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    VKF_RETURN_IF_ERROR(vkf__pickle_take_number(p, length_bytes, &length));
    if (length > p->size_bytes)
        return vkf__pickle_bad(p, "a number is longer than the pickle");
    VKF_RETURN_IF_ERROR(vkf__pickle_take(p, (size_t)length, &bytes));
    if (length > 8)
        return vkf__pickle_push(p, (vkf__pickle_value){.kind = VKF_PICKLE_OTHER});
    uint64_t number = length > 0 && bytes[length - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = (size_t)length; i-- > 0;)
        number = number << 8 | bytes[i];
    status = vkf__pickle_push(p, (vkf__pickle_value){.kind = VKF_PICKLE_INTEGER, .integer = (int64_t)number});
    return status;
}

static vkf_status push_integer(vkf__pickle *p, size_t size_bytes)
{
    vkf_status status = VKF_OK;
    uint64_t number = 0;
    VKF_RETURN_IF_ERROR(vkf__pickle_take_number(p, size_bytes, &number));
    int64_t value = size_bytes == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
    status = vkf__pickle_push(p, (vkf__pickle_value){.kind = VKF_PICKLE_INTEGER, .integer = value});
    return status;
}

static vkf_status push_other(vkf__pickle *p, size_t size_bytes)
{
    vkf_status status = VKF_OK;
    const uint8_t *bytes = NULL;
    VKF_RETURN_IF_ERROR(vkf__pickle_take(p, size_bytes, &bytes));
    status = vkf__pickle_push(p, (vkf__pickle_value){.kind = VKF_PICKLE_OTHER});
    return status;
}

// ---- what only the caller knows

// The zero at name[length] is the only one, so that the caller compares the whole name.
static vkf_status import(vkf__pickle *p, const char *name, size_t length)
{
    vkf__pickle_value value = {0};
    if (!vkf__is_printable(name, length))
        return vkf__pickle_bad(p, "the name of an import is no name");
    vkf_status status = p->world.import(p->world.user, name, &value);
    return status == VKF_OK ? vkf__pickle_push(p, value) : status;
}

// Imports what "module
// name
// " names.
static vkf_status import_lines(vkf__pickle *p)
{
    char name[NAME_BYTES];
    size_t length = 0;
    for (int lines = 0; lines < 2;) {
        const uint8_t *byte = NULL;
        vkf_status status = vkf__pickle_take(p, 1, &byte);
        if (status != VKF_OK)
            return status;
        if (length == sizeof name - 1)
            return vkf__pickle_bad(p, "the name of an import is too long");
        if (*byte != '\n')
            name[length++] = (char)*byte;
        else if (lines++ == 0)
            name[length++] = '.';
    }
    name[length] = '\0';
    return import(p, name, length);
}

static vkf_status import_strings(vkf__pickle *p)
{
    char name[NAME_BYTES];
    vkf_status status = vkf__pickle_need(p, 2);
    if (status != VKF_OK)
        return status;
    const vkf__pickle_value module = p->stack.at[p->stack.count - 2], last = p->stack.at[p->stack.count - 1];
    if (module.kind != VKF_PICKLE_STRING || last.kind != VKF_PICKLE_STRING)
        return vkf__pickle_bad(p, "an import's name is no string");
    const size_t length = (size_t)module.count + 1 + last.count;
    if (length >= sizeof name)
        return vkf__pickle_bad(p, "the name of an import is too long");
    memcpy(name, vkf__pickle_text(p, module), module.count);
    name[module.count] = '.';
    memcpy(name + module.count + 1, vkf__pickle_text(p, last), last.count);
    name[length] = '\0';
    p->stack.count -= 2;
    return import(p, name, length);
}

static vkf_status call(vkf__pickle *p)
{
    vkf_status status = VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__pickle_need(p, 2));
    const vkf__pickle_value callee = p->stack.at[p->stack.count - 2], arguments = p->stack.at[p->stack.count - 1];
    vkf__pickle_value value = {0};
    if (callee.kind != VKF_PICKLE_GLOBAL || arguments.kind != VKF_PICKLE_TUPLE)
        return vkf__pickle_bad(p, "a call of what was not imported");
    VKF_RETURN_IF_ERROR(p->world.call(p->world.user, p, callee, arguments, &value));
    p->stack.count -= 2;
    status = vkf__pickle_push(p, value);
    return status;
}

static vkf_status find_persistent(vkf__pickle *p)
{
    vkf__pickle_value value = {0};
    VKF_RETURN_IF_ERROR(vkf__pickle_need(p, 1));
    VKF_RETURN_IF_ERROR(p->world.persistent(p->world.user, p, p->stack.at[p->stack.count - 1], &value));
    p->stack.at[p->stack.count - 1] = value;
    return VKF_OK;
}

// Accepts attributes of dicts only, and ignores them: those of a dict of tensors, "_metadata", say nothing about the
// tensors.
static vkf_status build(vkf__pickle *p)
{
    VKF_RETURN_IF_ERROR(vkf__pickle_need(p, 2));
    if (p->stack.at[p->stack.count - 2].kind != VKF_PICKLE_DICT)
        return vkf__fail(&p->host, VKF_ERROR_UNSUPPORTED,
                         "%s: its pickle sets attributes of what is no dict (byte %zu)", p->path, p->opcode_place);
    p->stack.count--;
    return VKF_OK;
}

// ---- the loop

static vkf_status unknown(const vkf__pickle *p, unsigned code)
{
    return vkf__fail(&p->host, VKF_ERROR_UNSUPPORTED,
                     "%s: its pickle has opcode 0x%02x at byte %zu, which a dict of tensors does not need", p->path,
                     code, p->opcode_place);
}

static vkf_status skip(vkf__pickle *p, size_t size_bytes)
{
    const uint8_t *bytes = NULL;
    return vkf__pickle_take(p, size_bytes, &bytes);
}

static vkf_status step_over_structure(vkf__pickle *p, unsigned code)
{
    switch (code) {
    case MARK:
        return vkf__pickle_push_mark(p);
    case POP:
        return vkf__pickle_pop(p);
    case POP_MARK:
        return vkf__pickle_pop_marked(p);
    case TUPLE:
        return vkf__pickle_make_marked_tuple(p);
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        return vkf__pickle_make_tuple(p, code - TUPLE1 + 1);
    case EMPTY_TUPLE:
        return vkf__pickle_make_tuple(p, 0);
    case EMPTY_LIST:
        return vkf__pickle_push_container(p, VKF_PICKLE_LIST);
    case EMPTY_DICT:
        return vkf__pickle_push_container(p, VKF_PICKLE_DICT);
    case APPEND:
        return vkf__pickle_add_members(p, VKF_PICKLE_LIST, 1);
    case APPENDS:
        return vkf__pickle_add_marked(p, VKF_PICKLE_LIST);
    case SETITEM:
        return vkf__pickle_add_members(p, VKF_PICKLE_DICT, 2);
    case SETITEMS:
        return vkf__pickle_add_marked(p, VKF_PICKLE_DICT);
    case GLOBAL:
        return import_lines(p);
    case STACK_GLOBAL:
        return import_strings(p);
    case REDUCE:
        return call(p);
    case BINPERSID:
        return find_persistent(p);
    case BUILD:
        return build(p);
    default:
        return unknown(p, code);
    }
}

static vkf_status step(vkf__pickle *p, unsigned code)
{
    switch (code) {
    case PROTO:
        return skip(p, 1);
    case FRAME:
        return skip(p, 8);
    case NONE:
        return vkf__pickle_push(p, (vkf__pickle_value){0});
    case NEWTRUE:
    case NEWFALSE:
        return vkf__pickle_push(p, (vkf__pickle_value){.kind = VKF_PICKLE_BOOL, .integer = code == NEWTRUE});
    case BININT:
        return push_integer(p, 4);
    case BININT1:
        return push_integer(p, 1);
    case BININT2:
        return push_integer(p, 2);
    case LONG1:
        return push_long(p, 1);
    case LONG4:
        return push_long(p, 4);
    case BINFLOAT:
        return push_other(p, 8);
    case SHORT_BINUNICODE:
    case SHORT_BINSTRING:
        return push_string(p, VKF_PICKLE_STRING, 1);
    case BINUNICODE:
    case BINSTRING:
        return push_string(p, VKF_PICKLE_STRING, 4);
    case BINUNICODE8:
        return push_string(p, VKF_PICKLE_STRING, 8);
    case SHORT_BINBYTES:
        return push_string(p, VKF_PICKLE_OTHER, 1);
    case BINBYTES:
        return push_string(p, VKF_PICKLE_OTHER, 4);
    case BINPUT:
        return vkf__pickle_put_numbered(p, 1);
    case LONG_BINPUT:
        return vkf__pickle_put_numbered(p, 4);
    case MEMOIZE:
        return vkf__pickle_put_next(p);
    case BINGET:
        return vkf__pickle_get(p, 1);
    case LONG_BINGET:
        return vkf__pickle_get(p, 4);
    default:
        return step_over_structure(p, code);
    }
}

vkf_status vkf__pickle_next(vkf__pickle *p, vkf__pickle_value *out_value)
{
    p->stack.count = p->memo.count = p->marks.count = 0;
    p->memo_first = 0;
    for (;;) {
        const uint8_t *code = NULL;
        p->opcode_place = p->place;
        VKF_RETURN_IF_ERROR(vkf__pickle_take(p, 1, &code));
        if (*code == STOP)
            break;
        VKF_RETURN_IF_ERROR(step(p, *code));
    }
    if (p->stack.count != 1 || p->marks.count != 0)
        return vkf__pickle_bad(p, "it ends with other than one value");
    *out_value = p->stack.at[0];
    return VKF_OK;
}

vkf_status vkf__pickle_open(const vkf__host *host, const char *path, const uint8_t *text, size_t text_bytes,
                            const vkf__pickle_world *world, vkf__pickle **out_pickle)
{
    vkf__pickle *pickle = NULL;
    assert(text && text_bytes <= VKF_PICKLE_MAX_BYTES && world->import && world->call && world->persistent);
    VKF_ALLOC_OR_RETURN(host, pickle, 1);
    *pickle = (vkf__pickle){.host = *host, .path = path, .world = *world, .text = text, .size_bytes = text_bytes};
    *out_pickle = pickle;
    return VKF_OK;
}

void vkf__pickle_close(vkf__pickle **pickle)
{
    if (!*pickle)
        return;
    vkf__host host = (*pickle)->host;
    vkf__free(&host, (*pickle)->stack.at);
    vkf__free(&host, (*pickle)->memo.at);
    vkf__free(&host, (*pickle)->items.at);
    vkf__free(&host, (*pickle)->marks.at);
    vkf__free(&host, (*pickle)->entries);
    vkf__free(&host, *pickle);
    *pickle = NULL;
}

size_t vkf__pickle_place(const vkf__pickle *p)
{
    return p->place;
}

const vkf__pickle_value *vkf__pickle_items(const vkf__pickle *p, vkf__pickle_value tuple)
{
    return tuple.kind == VKF_PICKLE_TUPLE && tuple.count > 0 ? p->items.at + tuple.first : NULL;
}

const vkf__pickle_entry *vkf__pickle_entries(const vkf__pickle *p, size_t *out_count)
{
    *out_count = p->entry_count;
    return p->entries;
}

const char *vkf__pickle_text(const vkf__pickle *p, vkf__pickle_value string)
{
    return (const char *)p->text + string.first;
}

bool vkf__is_printable(const char *text, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return true;
}

bool vkf__pickle_is(const vkf__pickle *p, vkf__pickle_value value, const char *string)
{
    return value.kind == VKF_PICKLE_STRING && value.count == strlen(string) &&
           memcmp(vkf__pickle_text(p, value), string, value.count) == 0;
}

vkf__pickle_value vkf__pickle_new_dict(vkf__pickle *p)
{
    return (vkf__pickle_value){.kind = VKF_PICKLE_DICT, .first = p->container_count++};
}
