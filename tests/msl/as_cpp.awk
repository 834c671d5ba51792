# Puts texts in Metal's language, as SPIRV-Cross writes them, into one text of C++ for include/metal_stdlib: each in a
# namespace, under its own name. With -v shared=BYTES it takes the constants and the arrays in shared memory alone,
# which have to fit.

function enter()
{
    print "namespace text_" ++count " {\n#line 1 \"" FILENAME "\""
    name = FILENAME
    arrays = ""
    inside = 0
}

function leave(   macro)
{
    if (shared)
        print "struct shared {" arrays "};\nstatic_assert(sizeof(shared) <= " shared ", \"shared memory of " name "\");"
    print "}"
    for (macro in macros)
        print "#undef " macro
    delete macros
}

# A function constant has no value that C++ knows. One that has the number of another is refused, as Metal does.
function declare_function_constant(   number)
{
    number = $0
    gsub(/^.*function_constant\(|\).*$/, "", number)
    sub(/^constant/, "extern const")
    sub(/ *\[\[.*$/, "; enum { function_constant_" number " };")
}

FNR == 1 {
    if (count)
        leave()
    enter()
}

# include/metal_stdlib has this one.
/^template<typename T, size_t Num>$/ {
    inside = 1
}
inside {
    if (/^};$/)
        inside = 0
    print ""
    next
}
/^#include/ {
    print ""
    next
}

/^#define SPIRV_CROSS_/ {
    macros[$2]
}
/\[\[function_constant\([0-9]+\)\]\];$/ {
    declare_function_constant()
}
/^ +threadgroup [^(]*;$/ {
    arrays = arrays $0
}

shared && !/^#(ifndef|define|endif)|^constant|^extern const|^using/ {
    print ""
    next
}
{
    gsub(/vec<bool, N>/, "vec<int, N>")
    print
}

END {
    leave()
}
