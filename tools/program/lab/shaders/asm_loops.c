#include "lab/shaders/asm_loops.h"

#include <stdlib.h>
#include <string.h>

// What the widest load or store of the loop, or a barrier, is worth in instructions. Tails load element by element:
// narrow loads are worth less, by the square of their width, than the instructions around them.
#define WORTH 64.0
#define WORTH_OF_MULTIPLY_ADD 1e6
#define NONE SIZE_MAX

static bool add_loop(const asm_code *code, asm_loops *loops, size_t header, asm_loop **out_loop)
{
    for (size_t i = 0; i < loops->count; i++) {
        if (loops->items[i].header == header) {
            *out_loop = &loops->items[i];
            return true;
        }
    }
    asm_loop *grown = realloc(loops->items, (loops->count + 1) * sizeof *grown);
    if (!grown)
        return false;
    loops->items = grown;
    bool *has = calloc(code->block_count, sizeof *has);
    if (!has)
        return false;
    has[header] = true;
    grown[loops->count] = (asm_loop){.header = header, .size = 1, .has = has};
    *out_loop = &grown[loops->count++];
    return true;
}

static bool leads_into(const asm_block *block, const asm_loop *loop)
{
    for (size_t k = 0; k < block->successor_count; k++) {
        if (block->successors[k] != loop->header && loop->has[block->successors[k]])
            return true;
    }
    return false;
}

// Adds all blocks behind the header from which the latch is reached without passing the header.
static void add_members(const asm_code *code, asm_loop *loop, size_t latch)
{
    bool grew = !loop->has[latch];
    loop->size += grew;
    loop->has[latch] = true;
    while (grew) {
        grew = false;
        for (size_t i = code->block_count; i-- > loop->header + 1;) {
            if (loop->has[i] || !leads_into(&code->blocks[i], loop))
                continue;
            loop->has[i] = grew = true;
            loop->size++;
        }
    }
}

bool asm_loops_find(const asm_code *code, asm_loops *out_loops)
{
    *out_loops = (asm_loops){0};
    for (size_t i = 0; i < code->block_count; i++) {
        for (size_t k = 0; k < code->blocks[i].successor_count; k++) {
            asm_loop *loop = NULL;
            if (code->blocks[i].successors[k] > i)
                continue;
            if (!add_loop(code, out_loops, code->blocks[i].successors[k], &loop))
                return false;
            add_members(code, loop, i);
        }
    }
    return true;
}

void asm_loops_free(asm_loops *loops)
{
    for (size_t i = 0; i < loops->count; i++)
        free(loops->items[i].has);
    free(loops->items);
    *loops = (asm_loops){0};
}

bool asm_loop_is_within(const asm_loop *loop, const asm_loop *other)
{
    return loop != other && loop->header != other->header && other->has[loop->header];
}

// The search for the best way: for each block the best value of a way to it, itself included.
typedef struct search {
    const asm_code *code;
    const asm_loops *loops;
    const asm_loop *loop;
    double *value;
    size_t *before;
    uint32_t widest_global, widest_shared;
} search;

static bool is_shared(asm_kind kind)
{
    return kind == ASM_SHARED_LOAD || kind == ASM_SHARED_STORE;
}

static bool is_global(asm_kind kind)
{
    return kind == ASM_GLOBAL_LOAD || kind == ASM_GLOBAL_STORE;
}

static void find_widest(search *s)
{
    for (size_t b = 0; b < s->code->block_count; b++) {
        const asm_block *block = &s->code->blocks[b];
        for (size_t i = 0; s->loop->has[b] && i < block->count; i++) {
            const asm_instruction *at = &s->code->instructions[block->first + i];
            if (is_global(at->kind) && at->bytes > s->widest_global)
                s->widest_global = at->bytes;
            if (is_shared(at->kind) && at->bytes > s->widest_shared)
                s->widest_shared = at->bytes;
        }
    }
}

static double worth_of(const search *s, const asm_instruction *at)
{
    const uint32_t widest = is_global(at->kind) ? s->widest_global : is_shared(at->kind) ? s->widest_shared : 0;
    const double share = widest > 0 ? at->bytes / (double)widest : 0;
    const double worth = at->kind == ASM_BARRIER ? WORTH : WORTH * share * share;
    return worth + WORTH_OF_MULTIPLY_ADD * at->multiply_adds - 1;
}

static double worth_of_block(const search *s, size_t b)
{
    const asm_block *block = &s->code->blocks[b];
    double worth = 0;
    for (size_t i = 0; i < block->count; i++) {
        const asm_instruction *at = &s->code->instructions[block->first + i];
        worth += at->times * worth_of(s, at);
    }
    return worth;
}

static void offer(search *s, size_t from, size_t to)
{
    if (to <= from || !s->loop->has[to] || s->before[from] == NONE)
        return;
    const double value = s->value[from] + worth_of_block(s, to);
    if (s->before[to] != NONE && s->value[to] >= value)
        return;
    s->value[to] = value;
    s->before[to] = from;
}

// From the end of a loop within on to where that loop is left.
static void leave(search *s, size_t from, size_t header)
{
    const asm_loop *inner = NULL;
    for (size_t i = 0; i < s->loops->count; i++) {
        if (s->loops->items[i].header == header)
            inner = &s->loops->items[i];
    }
    for (size_t k = 0; inner && k < s->code->blocks[header].successor_count; k++) {
        const size_t to = s->code->blocks[header].successors[k];
        if (!inner->has[to])
            offer(s, from, to);
    }
}

// Steps from a block. Where one invocation in a divergent if goes into the then or the else, the text runs through
// both: a way takes one of them, from the then to where the else ends.
static void step(search *s, size_t from)
{
    const asm_block *block = &s->code->blocks[from];
    for (size_t k = 0; k < block->successor_count; k++) {
        const size_t to = block->successors[k];
        const asm_block *next = &s->code->blocks[to];
        if (to == from + 1 && next->is_else && next->successor_count == 2 && block->successor_count == 1)
            offer(s, from, next->successors[1]);
        else if (to <= from && to != s->loop->header && s->loop->has[to])
            leave(s, from, to);
        else
            offer(s, from, to);
    }
}

static bool goes_back(const search *s, size_t from)
{
    for (size_t k = 0; k < s->code->blocks[from].successor_count; k++) {
        if (s->code->blocks[from].successors[k] == s->loop->header)
            return true;
    }
    return false;
}

static size_t walk(search *s, size_t *out_blocks)
{
    const size_t header = s->loop->header;
    size_t best = NONE, count = 0;
    for (size_t b = 0; b < s->code->block_count; b++)
        s->before[b] = NONE;
    s->before[header] = header;
    s->value[header] = worth_of_block(s, header);
    for (size_t b = header; b < s->code->block_count; b++) {
        if (!s->loop->has[b] || s->before[b] == NONE)
            continue;
        step(s, b);
        if (goes_back(s, b) && (best == NONE || s->value[b] > s->value[best]))
            best = b;
    }
    if (best == NONE)
        return 0;
    for (size_t b = best;; b = s->before[b]) {
        out_blocks[count++] = b;
        if (b == header)
            break;
    }
    for (size_t i = 0; i < count / 2; i++) {
        const size_t swapped = out_blocks[i];
        out_blocks[i] = out_blocks[count - 1 - i];
        out_blocks[count - 1 - i] = swapped;
    }
    return count;
}

size_t asm_loop_path(const asm_code *code, const asm_loops *loops, const asm_loop *loop, size_t *out_blocks)
{
    search s = {.code = code, .loops = loops, .loop = loop};
    s.value = calloc(code->block_count, sizeof *s.value);
    s.before = calloc(code->block_count, sizeof *s.before);
    find_widest(&s);
    const size_t count = s.value && s.before ? walk(&s, out_blocks) : 0;
    free(s.value);
    free(s.before);
    return count;
}
