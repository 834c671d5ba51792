// The hot loop is the one that itself, without the loops within it, has the most multiply-adds in a turn; where none
// has any, the one that loads the most.
#include "lab/shaders/loop_figures.h"

#include <stdlib.h>

#include "lab/shaders/asm_loops.h"

typedef struct way {
    size_t *blocks;
    size_t count;
} way;

static double multiply_adds_of(const asm_code *code, const asm_instruction *at)
{
    return (double)at->times * at->multiply_adds / (at->kind == ASM_MATRIX ? code->subgroup : 1);
}

static bool is_in_inner(const asm_loops *loops, const asm_loop *loop, size_t block)
{
    for (size_t i = 0; i < loops->count; i++) {
        if (loops->items[i].has[block] && asm_loop_is_within(&loops->items[i], loop))
            return true;
    }
    return false;
}

// How hot a loop is: multiply-adds count before any number of bytes.
static double heat_of(const asm_code *code, const asm_loops *loops, const asm_loop *loop, const way *path)
{
    double heat = 0;
    for (size_t p = 0; p < path->count; p++) {
        const asm_block *block = &code->blocks[path->blocks[p]];
        for (size_t i = 0; i < block->count && !is_in_inner(loops, loop, path->blocks[p]); i++) {
            const asm_instruction *at = &code->instructions[block->first + i];
            heat += multiply_adds_of(code, at) * 1e6;
            heat += at->kind == ASM_GLOBAL_LOAD ? at->bytes * 1e-3 : at->kind == ASM_SHARED_LOAD ? at->bytes * 1e-6 : 0;
        }
    }
    return heat;
}

// Follows the loads through two turns: those of one may be waited for in the next.
static uint32_t most_in_flight(const asm_code *code, const way *path)
{
    uint32_t under_way[ASM_QUEUES] = {0}, most = 0;
    for (size_t p = 0; p < 2 * path->count; p++) {
        const asm_block *block = &code->blocks[path->blocks[p % path->count]];
        for (size_t i = 0; i < block->count; i++) {
            const asm_instruction *at = &code->instructions[block->first + i];
            uint32_t total = 0;
            for (uint32_t q = 0; q < ASM_QUEUES; q++) {
                if ((at->waits >> q & 1) && under_way[q] > at->wait_left)
                    under_way[q] = at->wait_left;
            }
            if (at->kind == ASM_GLOBAL_LOAD)
                under_way[at->queue] += at->times;
            for (uint32_t q = 0; q < ASM_QUEUES; q++)
                total += under_way[q];
            most = total > most ? total : most;
        }
    }
    return most;
}

static void add_instruction(const asm_code *code, const asm_instruction *at, loop_figures *figures)
{
    figures->counts[at->kind] += at->times;
    figures->scalar += at->scalar && at->kind != ASM_HINT ? at->times : 0;
    figures->multiply_adds[at->unit] += multiply_adds_of(code, at);
    figures->fma_issues[at->unit] += at->unit != ASM_UNIT_NONE ? at->times : 0;
    figures->delay += at->delay * at->times;
    figures->load_bytes += at->kind == ASM_GLOBAL_LOAD ? at->bytes * at->times : 0;
    figures->shared_load_bytes += at->kind == ASM_SHARED_LOAD ? at->bytes * at->times : 0;
    figures->shared_store_bytes += at->kind == ASM_SHARED_STORE ? at->bytes * at->times : 0;
}

static void count(const asm_code *code, const way *path, loop_figures *out)
{
    for (size_t p = 0; p < path->count; p++) {
        const asm_block *block = &code->blocks[path->blocks[p]];
        for (size_t i = 0; i < block->count; i++)
            add_instruction(code, &code->instructions[block->first + i], out);
    }
}

static void lines_of(const asm_code *code, const way *path, uint32_t *out_first, uint32_t *out_last)
{
    *out_first = *out_last = 0;
    for (size_t p = 0; p < path->count; p++) {
        const asm_block *block = &code->blocks[path->blocks[p]];
        if (block->count == 0)
            continue;
        const uint32_t first = code->instructions[block->first].line;
        const uint32_t last = code->instructions[block->first + block->count - 1].line;
        *out_first = *out_first == 0 || first < *out_first ? first : *out_first;
        *out_last = last > *out_last ? last : *out_last;
    }
}

static bool loads(const asm_code *code, const way *path)
{
    loop_figures found = {0};
    count(code, path, &found);
    return found.counts[ASM_GLOBAL_LOAD] > 0;
}

static void describe_feed(const asm_code *code, const way *path, loop_figures *out)
{
    loop_figures found = {0};
    count(code, path, &found);
    lines_of(code, path, &out->feed_first_line, &out->feed_last_line);
    out->feed_loads = found.counts[ASM_GLOBAL_LOAD];
    out->feed_bytes = found.load_bytes;
    out->feed_barriers = found.counts[ASM_BARRIER];
    out->feed_in_flight = most_in_flight(code, path);
}

static bool has_instructions(const asm_code *code, const way *path)
{
    for (size_t p = 0; p < path->count; p++) {
        if (code->blocks[path->blocks[p]].count > 0)
            return true;
    }
    return false;
}

static const asm_loop *find_hot(const asm_code *code, const asm_loops *loops, way *path)
{
    const asm_loop *hot = NULL;
    double most = -1;
    for (size_t i = 0; i < loops->count; i++) {
        path->count = asm_loop_path(code, loops, &loops->items[i], path->blocks);
        const double heat = has_instructions(code, path) ? heat_of(code, loops, &loops->items[i], path) : -1;
        if (heat > most) {
            most = heat;
            hot = &loops->items[i];
        }
    }
    return hot;
}

// The smallest loop that loads from global memory, of the hot one and those around it; else the outermost.
static void find_feed(const asm_code *code, const asm_loops *loops, const asm_loop *hot, way *path, loop_figures *out)
{
    const asm_loop *feed = hot;
    path->count = asm_loop_path(code, loops, hot, path->blocks);
    while (!loads(code, path)) {
        const asm_loop *next = NULL;
        for (size_t i = 0; i < loops->count; i++) {
            const asm_loop *other = &loops->items[i];
            if (asm_loop_is_within(feed, other) && (!next || other->size < next->size))
                next = other;
        }
        if (!next)
            break;
        feed = next;
        path->count = asm_loop_path(code, loops, feed, path->blocks);
    }
    describe_feed(code, path, out);
}

loop_result loop_figures_of(const asm_code *code, loop_figures *out_figures)
{
    *out_figures = (loop_figures){.dialect = code->dialect, .subgroup = code->subgroup};
    asm_loops loops;
    way path = {.blocks = calloc(code->block_count + 1, sizeof *path.blocks)};
    loop_result result = asm_loops_find(code, &loops) && path.blocks ? LOOP_NONE : LOOP_NO_MEMORY;
    const asm_loop *hot = result == LOOP_NONE ? find_hot(code, &loops, &path) : NULL;
    if (hot) {
        path.count = asm_loop_path(code, &loops, hot, path.blocks);
        count(code, &path, out_figures);
        lines_of(code, &path, &out_figures->first_line, &out_figures->last_line);
        find_feed(code, &loops, hot, &path, out_figures);
        result = LOOP_READ;
    }
    asm_loops_free(&loops);
    free(path.blocks);
    return result;
}

double loop_multiply_adds(const loop_figures *figures)
{
    double sum = 0;
    for (size_t u = 0; u < ASM_UNIT_COUNT; u++)
        sum += figures->multiply_adds[u];
    return sum;
}
