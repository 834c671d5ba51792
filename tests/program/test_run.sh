#!/bin/sh
# test_run.sh PROGRAM [MODEL]: what `run` and `tune` do with right input. MODEL is the demo model's directory.
. "$(dirname "$0")/expectations.sh"

# Few kernels, so that few are compiled.
tuning() {
    few="--mask maxTexelBufferElements=64 --mask bufferDeviceAddress --mask subgroupArithmetic"
    few="$few --mask maxComputeSharedMemorySize=16384 --mask maxComputeWorkGroupInvocations=128"
    expect 1 "tune a model of none" tune /nonexistent
    # shellcheck disable=SC2086
    {
        expect 0 "tune with no time" tune $few --no-cache --shapes 4x40x20 --time-cap 0.001
        grep -q '^0 of 1 shapes measured$' "$work/out" || fail "tune with no time: something was measured"
        printf '4x40x20 # a shape\n\n5x40x20,4x40x20\n' >"$work/shapes"
        expect 0 "tune shapes of a file" tune $few --no-cache --shapes "$work/shapes" --time-cap 0.001 --json
        [ "$(grep -c '"tuned":false' "$work/out")" = 2 ] || fail "tune shapes of a file: not two shapes"
        expect 0 "tune attention" tune $few --no-cache --shapes attention:2x4x8,attention:2x4x5x8 --time-cap 0.001 --json
        grep -q '"op":"attention","heads":2,"m":4,"n":5,"k":8,' "$work/out" || fail "tune attention: another shape"
        expect 0 "info of attention" info --device 0 $few --no-cache --kernels --shape attention:2x4x5x8
        grep -q '^ *\*\* *rows *attention_' "$work/out" || fail "info of attention: no choice"
        expect 0 "tune" tune $few --cache "$work/tuned" --shapes 4x40x20 --time-cap 50
        if grep -q '^1 of 1 shapes measured$' "$work/out"; then
            grep -q '^gemm f32,f32,f32 m<=8 n=40 k=20 ' "$work/tuned"/tuned-* || fail "tune: nothing in the cache"
            expect 0 "info of a measured shape" info --device 0 $few --cache "$work/tuned" --kernels --shape 3x40x20
            grep -q '\*\* .*measured on this device' "$work/out" || fail "info --kernels: no measured choice"
        else
            echo "tune found nothing in its time: the machine is busy"
        fi
        expect 0 "info of a forced variant" info --device 0 $few --no-cache --kernels --variant gemm_tile
        grep -q '\*\* .*gemm_tile.*asked for' "$work/out" || fail "info --variant: not what was asked for"
        expect 0 "no self-test" run --no-cache --no-self-test "$model" one
        output "no self-test" eins
        expect 0 "rounded factors" run --no-cache --dtype f32/f16 --arithmetic f16 "$model" one
        output "rounded factors" eins
        expect 0 "sums in f16" run --no-cache --dtype f16 --arithmetic f16-sums "$model" one
        output "sums in f16" eins

        # What runs in the background has its interrupts ignored by the shell, and would go on.
        env --default-signal=INT "$program" tune $few --no-cache --debug --time-cap 50 >"$work/out" 2>"$work/err" &
        search=$!
        while ! grep -q 'self-test: ' "$work/err" && kill -0 $search; do sleep 0.1; done
        kill -INT $search
    }
    wait $search
    [ $? -eq 1 ] || fail "tune, interrupted: not exit code 1"
    says "tune, interrupted" 'cancelled'
    grep -q 'shapes measured$' "$work/out" || fail "tune, interrupted: no table"
}

runs() {
    expect 0 "one text" run "$model" 'two hundred and forty-one thousand and seven'
    output "one text" zweihunderteinundvierzigtausendsieben
    printf 'seven\n\nForty-Two\r\none million' >"$work/in"
    expect 0 "lines" run "$model" -
    output "lines" 'sieben

zweiundvierzig
eine Million'
    printf 'seven\nforty-two\none million\n' >"$work/in"
    expect 0 "lines, one at a time" run --batch 1 "$model"
    output "lines, one at a time" 'sieben
zweiundvierzig
eine Million'
    expect 0 "no lines" run "$model" -
    if [ -s "$work/out" ]; then fail "no lines: there is output"; fi
    long=$(awk 'BEGIN { for (i = 0; i < 100; i++) printf "seven " }')
    expect 1 "text too long" run "$model" seven "$long" forty-two
    output "text too long" 'sieben

zweiundvierzig'
    says "text too long" 'text 2 '
    awk 'BEGIN { for (i = 0; i < 300000; i++) printf "seven " }' >"$work/in"
    expect 1 "line of 1.8 MB" run "$model" -
    expect 0 "unknown word" run "$model" 'seven xyzzy'
    says "unknown word" "character 7: 'xyzzy'"
    printf '\377\376\000\200seven\n' >"$work/in"
    expect 0 "bytes that are no text" run "$model" -
    expect 0 "cut off" run --max-len 2 "$model" 'forty-two'
    says "cut off" 'cut off at 2 tokens'
    expect 1 "more tokens than the model has" run --max-len 100000 "$model" one
    expect 0 "timing" run --timing "$model" 'forty-two'
    says "timing" 'steady run per line'
    output "timing" zweiundvierzig
    expect 0 "least capable device" run --caps android-baseline-2022 "$model" 'forty-two'
    output "least capable device" zweiundvierzig
    for precision in f16 f32/f16 f32/bf16; do
        expect 0 "precision $precision" run --dtype $precision "$model" 'forty-two'
        output "precision $precision" zweiundvierzig
    done
}

pictures() {
    for kind in svg html; do
        expect 0 "picture in $kind" run --attention "$work/picture.$kind" "$model" 'forty-two' 'one million and seven'
        output "picture in $kind" 'zweiundvierzig
eine Million sieben'
        grep -q '</svg>' "$work/picture.$kind" || fail "picture.$kind: not complete"
        grep -q 'layer 1, head 3' "$work/picture.$kind" || fail "picture.$kind: a panel is missing"
    done
    expect 0 "picture of what must be escaped" run --attention "$work/escaped.svg" "$model" '<seven> & "one"'
    grep -q '&lt;seven&gt; &amp; &quot;one&quot;' "$work/escaped.svg" || fail "escaped.svg: not escaped"
    if command -v xmllint >/dev/null; then
        xmllint --noout "$work/picture.svg" "$work/escaped.svg" || fail "xmllint refuses a picture"
    fi
    expect 1 "picture into no directory" run --attention /nonexistent/x.svg "$model" one
    output "picture into no directory" eins
    mkdir "$work/directory.svg"
    expect 1 "picture onto a directory" run --attention "$work/directory.svg" "$model" one
    expect 1 "picture of an empty text" run --attention "$work/empty.svg" "$model" '' one
    if [ -e "$work/empty.svg" ]; then fail "picture of an empty text: it was drawn"; fi
    expect 1 "picture of no text" run --attention "$work/empty.svg" "$model" -
}

tuning
runs
pictures
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
