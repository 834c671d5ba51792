// embed_modules MANIFEST OUTPUT: writes the C table of compiled kernels. It runs while the library is built, on the
// building machine.
//
// MANIFEST has a line for each module: name|source|defines|target|file.
//
// The modules of one source are a family. They are much alike and are compressed together: the first words of all their
// instructions, then all other words, with ids as src/kernel/spirv_coding.h tells. Of each of the two come first the
// lowest bytes of all words, then the second bytes, and so on. zlib looks back 32 KiB, which is about one module; in
// this order the same bytes of four modules lie that close. Without the order and the distances of ids zlib leaves
// 1,848 kB instead of 553; and of the part core's kernels in f16 854 instead of 231, more than a whole program of it
// may have.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/hash.h"
#include "kernel/spirv_coding.h"

#define BYTES_IN_ROW 24
#define FIELDS 5

typedef struct shader_module {
    const char *name, *source, *defines, *path; // in the manifest's text
    uint8_t *bytes;                             // (word_count, 4), the lowest byte of a word first, as in a file
    size_t word_count, instruction_count;
    size_t family;
    size_t first_instruction, first_operand; // in the family; the words of a module's header count as operands
} shader_module;

typedef struct shader_family {
    const char *source;
    size_t word_count, instruction_count;
    size_t packed_bytes;
} shader_family;

typedef struct shader_table {
    shader_module *modules;
    shader_family *families;
    size_t module_count, family_count;
} shader_table;

static void fail(const char *what, const char *name)
{
    (void)fprintf(stderr, "embed_modules: %s: %s\n", name, what);
    exit(EXIT_FAILURE);
}

static void *need(size_t count, size_t size_bytes)
{
    void *memory = calloc(count > 0 ? count : 1, size_bytes);
    if (!memory)
        fail("no memory", "allocation");
    return memory;
}

// The whole file, with a zero behind it. The caller frees it.
static char *read_file(const char *path, size_t *out_size)
{
    long end = -1;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot be opened", path);
    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        fail("has no size", path);
    char *content = need((size_t)end + 1, 1);
    if (fread(content, 1, (size_t)end, file) != (size_t)end)
        fail("cannot be read", path);
    (void)fclose(file);
    *out_size = (size_t)end;
    return content;
}

static uint32_t word_of(const shader_module *module, size_t i)
{
    const uint8_t *bytes = &module->bytes[4 * i];
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

// Counts the instructions, which have to fill the module.
static void check_words(shader_module *module)
{
    if (module->word_count < VKF_SPIRV_HEADER_WORDS || word_of(module, 0) != VKF_SPIRV_MAGIC)
        fail("is not a little-endian SPIR-V module", module->path);
    for (size_t at = VKF_SPIRV_HEADER_WORDS; at < module->word_count;) {
        const size_t length = word_of(module, at) >> 16;
        if (length == 0 || length > module->word_count - at)
            fail("has an instruction without an end", module->path);
        module->instruction_count++;
        at += length;
    }
    for (size_t i = 0; i < module->word_count; i++)
        if (vkf__spirv_is_code(word_of(module, i)))
            fail("holds a word that src/kernel/spirv_coding.h keeps for itself", module->path);
}

static void read_module(shader_module *module)
{
    size_t size = 0;
    module->bytes = (uint8_t *)read_file(module->path, &size);
    if (size % 4 != 0)
        fail("is not whole words", module->path);
    module->word_count = size / 4;
    check_words(module);
}

// Ends the fields of a line with zeros. A field may be empty.
static void parse_line(shader_module *module, char *line)
{
    const char *fields[FIELDS] = {line};
    for (size_t i = 1; i < FIELDS; i++) {
        char *bar = strchr(fields[i - 1], '|');
        if (!bar)
            fail("is not a line of the manifest", line);
        *bar = '\0';
        fields[i] = bar + 1;
    }
    module->name = fields[0];
    module->source = fields[1];
    module->defines = fields[2];
    module->path = fields[4];
}

static void add_to_family(shader_table *table, shader_module *module)
{
    size_t i = 0;
    while (i < table->family_count && strcmp(table->families[i].source, module->source) != 0)
        i++;
    if (i == table->family_count)
        table->families[table->family_count++].source = module->source;
    shader_family *family = &table->families[i];
    module->family = i;
    module->first_instruction = family->instruction_count;
    module->first_operand = family->word_count - family->instruction_count;
    family->instruction_count += module->instruction_count;
    family->word_count += module->word_count;
}

static void read_modules(shader_table *table, char *manifest)
{
    size_t lines = 0;
    for (const char *at = manifest; *at; at++)
        lines += *at == '\n';
    table->modules = need(lines, sizeof *table->modules);
    table->families = need(lines, sizeof *table->families);
    for (char *line = manifest, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (!*line)
            continue;
        shader_module *module = &table->modules[table->module_count++];
        parse_line(module, line);
        read_module(module);
        add_to_family(table, module);
    }
}

// planes: (4, stride) bytes
static void put_word(uint8_t *planes, size_t stride, size_t i, uint32_t word)
{
    for (size_t k = 0; k < 4; k++)
        planes[k * stride + i] = (uint8_t)(word >> 8 * k);
}

// planes: (4, instructions) and (4, operands) of the module's family
static void put_module(const shader_module *module, const shader_family *family, uint8_t *planes)
{
    const size_t operands = family->word_count - family->instruction_count;
    uint8_t *operand_planes = planes + 4 * family->instruction_count;
    size_t instruction = module->first_instruction, operand = module->first_operand, at = 0;
    uint32_t newest = 0;
    while (at < VKF_SPIRV_HEADER_WORDS)
        put_word(operand_planes, operands, operand++, word_of(module, at++));
    while (at < module->word_count) {
        const uint32_t first = word_of(module, at++);
        put_word(planes, family->instruction_count, instruction++, first);
        for (size_t i = 0; i + 1 < first >> 16; i++)
            put_word(operand_planes, operands, operand++, vkf__spirv_encode(&newest, i, word_of(module, at++)));
    }
}

static void fill_planes(const shader_table *table, size_t index, uint8_t *planes)
{
    for (size_t m = 0; m < table->module_count; m++)
        if (table->modules[m].family == index)
            put_module(&table->modules[m], &table->families[index], planes);
}

static void write_family(FILE *file, shader_table *table, size_t index)
{
    shader_family *family = &table->families[index];
    const uLong size = (uLong)(4 * family->word_count);
    uLongf packed_bytes = compressBound(size);
    uint8_t *planes = need(size, 1), *packed = need(packed_bytes, 1);
    fill_planes(table, index, planes);
    if (compress2(packed, &packed_bytes, planes, size, Z_BEST_COMPRESSION) != Z_OK)
        fail("cannot be compressed", family->source);
    family->packed_bytes = packed_bytes;
    (void)fprintf(file, "\n// %s\nstatic const uint8_t family_%zu[%zu] = {", family->source, index,
                  family->packed_bytes);
    for (size_t i = 0; i < packed_bytes; i++)
        (void)fprintf(file, "%s0x%02x,", i % BYTES_IN_ROW == 0 ? "\n" : "", packed[i]);
    (void)fprintf(file, "\n};\n");
    free(planes);
    free(packed);
}

static void write_table(FILE *file, shader_table *table)
{
    (void)fprintf(file, "// Generated by shaders/embed_modules.c.\n#include \"kernel/shader_table.h\"\n");
    for (size_t i = 0; i < table->family_count; i++)
        write_family(file, table, i);
    (void)fprintf(file, "\nstatic const vkf__shader_family families[] = {\n");
    for (size_t i = 0; i < table->family_count; i++)
        (void)fprintf(file, "    {family_%zu, %zu, %zu, %zu},\n", i, table->families[i].packed_bytes,
                      table->families[i].word_count, table->families[i].instruction_count);
    (void)fprintf(file, "};\n\nconst vkf__shader vkf__shaders[] = {\n");
    for (size_t i = 0; i < table->module_count; i++) {
        const shader_module *module = &table->modules[i];
        (void)fprintf(file, "    {\"%s\", \"%s\", \"%s\", &families[%zu], %zu, %zu, %zu, UINT64_C(0x%016llx)},\n",
                      module->name, module->source, module->defines, module->family, module->first_instruction,
                      module->first_operand, module->word_count,
                      (unsigned long long)vkf__hash(VKF_HASH_SEED, module->bytes, 4 * module->word_count));
    }
    (void)fprintf(file, "};\nconst uint32_t vkf__shader_count = %zu;\n", table->module_count);
}

int main(int argc, char **argv)
{
    shader_table table = {0};
    size_t size = 0;
    if (argc != 3) {
        (void)fprintf(stderr, "usage: embed_modules MANIFEST OUTPUT\n");
        return EXIT_FAILURE;
    }
    char *manifest = read_file(argv[1], &size);
    read_modules(&table, manifest);
    if (table.module_count == 0)
        fail("lists no modules", argv[1]);
    FILE *file = fopen(argv[2], "wb");
    if (!file)
        fail("cannot be created", argv[2]);
    write_table(file, &table);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        fail("cannot be written", argv[2]);
    for (size_t i = 0; i < table.module_count; i++)
        free(table.modules[i].bytes);
    free(table.modules);
    free(table.families);
    free(manifest);
    return EXIT_SUCCESS;
}
