# Writes OUTPUT.h and OUTPUT.c: the descriptions of chips, CHIPS/*.json, as the table vkf_embedded_chips.
file(GLOB chips ${CHIPS}/*.json)
list(SORT chips)
set(texts "")
set(rows "")
foreach(chip IN LISTS chips)
    get_filename_component(name ${chip} NAME_WE)
    string(MAKE_C_IDENTIFIER ${name} symbol)
    file(READ ${chip} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND texts "static const unsigned char ${symbol}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", (const char *)${symbol}, sizeof ${symbol} - 1},\n")
endforeach()
list(LENGTH chips count)
file(WRITE ${OUTPUT}.h "// Made by tools/cmake/embed_chips.cmake.
#include <stddef.h>
#define VKF_EMBEDDED_CHIP_COUNT ${count}
extern const struct vkf_embedded_chip { const char *name, *text; size_t bytes; }
    vkf_embedded_chips[VKF_EMBEDDED_CHIP_COUNT];
")
file(WRITE ${OUTPUT}.c "#include \"command/embedded_chips.h\"
${texts}const struct vkf_embedded_chip vkf_embedded_chips[VKF_EMBEDDED_CHIP_COUNT] = {
${rows}};
")
