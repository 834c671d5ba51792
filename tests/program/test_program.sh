#!/bin/sh
# test_program.sh PROGRAM [MODEL]: the command line of vkformer. Wrong input of every kind must give exit code 1 or 2
# and a message, never a crash or a hang. MODEL is the demo model's directory.
. "$(dirname "$0")/expectations.sh"

command_line() {
    expect 2 "no command"
    expect 2 "unknown command" frobnicate
    says "unknown command" "^vkformer: error: 'frobnicate': there is no such command; see vkformer --help$"
    expect 2 "command that is nearly one" rnu
    says "command that is nearly one" "^vkformer: error: 'rnu': .*; did you mean run? See vkformer --help$"
    expect 2 "help that is nearly one" --hepl
    says "help that is nearly one" 'did you mean --help?'
    expect 0 "help of the program" help
    grep -q '^usage: vkformer COMMAND' "$work/out" || fail "help is not the program's"
    expect 2 "help of nothing" help frobnicate
    expect 0 "version" --version
    expect 0 "help" --help
    for command in info run embed rerank inspect profile train eval tune shaders bench "bench gemm" "bench gemv" "bench attention" "bench mha" "bench softmax" \
        "bench norm" "bench permute" "bench layer" "bench backward" "bench model" "bench decode" "bench train" \
        "bench copy" "bench fma" "bench cases"; do
        # shellcheck disable=SC2086
        expect 0 "$command --help" $command --help
        grep -q -- '--device' "$work/out" || fail "$command --help lists no --device"
        cp "$work/out" "$work/help"
        for asked in "$command -h" "help $command"; do
            # shellcheck disable=SC2086
            expect 0 "$asked" $asked
            cmp -s "$work/help" "$work/out" || fail "$asked is another text than $command --help"
        done
        for wrong in --frobnicate --devcie --devcie=cpu -x "--no-cache -x" --help=1 --quiet=1; do
            # shellcheck disable=SC2086
            expect 2 "$command $wrong" $command $wrong
            says "$command $wrong" "^vkformer: error: '-.*[;?] [sS]ee vkformer $command --help$"
            [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$command $wrong has more than one line of message"
        done
        # shellcheck disable=SC2086
        expect 2 "$command, option without its value" $command --device
        [ "$command" = bench ] && continue # its first argument is a benchmark
        says "$command, option without its value" "'--device': the value is missing; see vkformer $command --help"
        # shellcheck disable=SC2086
        expect 2 "$command, option that is nearly one" $command --devcie=cpu
        says "$command, option that is nearly one" "'--devcie': there is no such option; did you mean --device? See"
    done
    expect 2 "profile that is none" info --caps nothing
    expect 2 "empty device" info --device ''
    expect 2 "device padded with a blank" info --device ' 1'
    expect 2 "device index beyond 32 bits" info --device 99999999999999999999
    expect 2 "uuid too short" info --device uuid:1234
    expect 2 "uuid too long" info --device uuid:00000000000000000000000000000000ff
    expect 2 "uuid of no digits" info --device uuid:zz000000000000000000000000000000
    expect 2 "empty mask" info --mask ''
    expect 2 "empty cache path" info --cache ''
    expect 2 "info with an argument" info something
    expect 2 "bench without a benchmark" bench
    expect 2 "unknown benchmark" bench frobnicate
    expect 2 "gemm without sizes" bench gemm
    expect 2 "cases of nothing" bench cases
    expect 2 "cases of an unknown operator" bench cases gates
    expect 2 "gemm without a depth" bench gemm --m 8 --n 8
    for number in 0 -1 1.5 1e3 x '' ' 5' '5 ' 0x10 4294967296 99999999999999999999999; do
        expect 2 "gemm --m '$number'" bench gemm --m "$number" --n 8 --k 8
        expect 2 "run --batch '$number'" run --batch "$number" "$model" one
        expect 2 "run --max-len '$number'" run --max-len "$number" "$model" one
    done
    expect 2 "repetitions 0" bench gemm --m 8 --n 8 --k 8 --repetitions 0
    expect 2 "gemm in i32" bench gemm --m 8 --n 8 --k 8 --dtype i32
    expect 2 "gemm with an argument" bench gemm --m 8 --n 8 --k 8 9
    expect 2 "layer of no kind" bench layer --kind neither --d-model 8 --heads 2 --ff 8 --len 4
    expect 2 "heads that do not divide" bench layer --kind encoder --d-model 8 --heads 3 --ff 8 --len 4
    for shape in 1x2 1x2x3x4 0x1x2 x 1x2x3,4 1x2x99999999999 attention:1x2 attention:1x2x3x4x5 attention: ''; do
        expect 2 "tune --shapes '$shape'" tune --shapes "$shape"
        expect 2 "info --shape '$shape'" info --shape "$shape"
    done
    expect 2 "info with two shapes" info --shape 1x2x3,4x5x6
    expect 2 "tune with a model and shapes" tune "$model" --shapes 1x2x3
    expect 2 "tune with two models" tune "$model" "$model"
    for types in f32 f32,f32 f32,f32,f32,f32 f32,i32,f32 f32,,f32 ''; do
        expect 2 "tune --types '$types'" tune --types "$types"
    done
    for seconds in 0 -1 x 1e99; do
        expect 2 "tune --time-cap '$seconds'" tune --time-cap "$seconds"
    done
    expect 2 "empty variant" info --variant ''
    expect 1 "variant of no kernel" eval "$work" --out "$work/results" --variant gem_tile
    says "variant of no kernel" 'begins with "gem_tile"; near it are gemm_tile, '
    expect 1 "variant of no config" eval "$work" --out "$work/results" --variant gemm_tile.f32_f32_f32/smell
    says "variant of no config" 'near it are gemm_tile\.f32_f32_f32/small, '
    expect 2 "unknown arithmetic" info --arithmetic half
    expect 2 "run without a model" run
    expect 2 "run, text beside -" run "$model" one -
    expect 2 "run in i32" run --dtype i32 "$model" one
    expect 2 "picture of no known kind" run --attention "$work/x.png" "$model" one
    expect 2 "picture without an extension" run --attention "$work.d/x" "$model" one
    expect "1 2" "eval without arguments" eval
    expect "1 2" "eval without --out" eval "$work"
    expect "1 2" "eval of nothing" eval /nonexistent --out "$work/results"
    expect "1 2" "eval into a file" eval "$model" --out "$model/config.json"
}

without_vulkan() {
    environment="VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent"
    expect 1 "info without Vulkan" info
    expect 1 "info --json without Vulkan" info --json
    expect 1 "info --device 0 without Vulkan" info --device 0
    expect 1 "run without Vulkan" run "$model" one --device best
    expect 0 "run by references without Vulkan" run "$model" one --device reference
    expect 1 "tune without Vulkan" tune --shapes 1x2x3
    expect 1 "bench gemm without Vulkan" bench gemm --m 8 --n 8 --k 8 --device best
    expect 1 "bench attention without Vulkan" bench attention --heads 2 --q-len 4 --head-dim 8 --device best
    expect 1 "bench decode without Vulkan" bench decode "$model" --device best
    expect 1 "bench layer without Vulkan" bench layer --kind encoder --d-model 8 --heads 2 --ff 8 --len 4 --device best
    environment=
}

plans() {
    chips=$here/../../tools/chips/described
    models=$here/../plan/models
    expect 0 "plan --help" plan --help
    expect 0 "plan --list-chips" plan --list-chips
    grep -q '^rtx4090 ' "$work/out" || fail "plan --list-chips lists no rtx4090"
    expect 0 "plan --calibrate" plan --calibrate
    grep -q '^rtx3090 .* 4569\.2 ' "$work/out" || fail "plan --calibrate lists no rtx3090"
    expect 0 "plan --calibrate --json" plan --calibrate --json
    expect 2 "plan, a calibration and a model" plan --calibrate "$models/gpt2"
    expect 2 "plan, a calibration and a list" plan --calibrate --list-chips
    expect 0 "plan, sums in f32" plan --chip adreno750 --dtype f16 "$models/gpt2"
    grep -q 'gemm_half' "$work/out" && fail "plan sums in f16 without being asked"
    expect 0 "plan, sums in f16" plan --chip adreno750 --dtype f16 --arithmetic f16-sums "$models/gpt2"
    grep -q 'gemm_half' "$work/out" || fail "plan --arithmetic f16-sums has no gemm_half"
    expect 0 "plan on all chips" plan --chip all --dtype f16 "$models/gpt2"
    grep -q '^rtx4090 ' "$work/out" || fail "plan on all chips lists no rtx4090"
    expect 0 "plan beside ggml" plan --chip all --peer ggml --dtype f16 "$models/llama-3.2-1b"
    grep -q 'ggml t/s' "$work/out" || fail "plan --peer ggml does not name it"
    expect 0 "plan beside ggml --json" plan --chip all --peer ggml --dtype f16 --quantize q4 --json "$models/llama-3.2-1b"
    grep -q 'ggml_tokens_per_second' "$work/out" || fail "plan --peer ggml --json does not name it"
    expect 1 "plan beside ggml, a model that it has no estimate of" plan --chip all --peer ggml --dtype f16 "$models/gpt2"
    expect 2 "plan beside ggml on one chip" plan --chip m2 --peer ggml --dtype f16 "$models/llama-3.2-1b"
    expect 2 "plan beside another peer" plan --chip all --peer nobody --dtype f16 "$models/llama-3.2-1b"
    expect 0 "plan on all chips --json" plan --chip all --json "$models/bert-base"
    expect 1 "plan on all chips, model that is not there" plan --chip all "$work/none"
    expect 0 "plan, layers cut between ranks" plan --chip h200 --dtype f16 --ranks 4 "$models/llama-3.1-8b"
    grep -q '^rank 3 .* layers [0-9]* to 31, ' "$work/out" || fail "plan --ranks does not say what the last one has"
    expect 0 "plan, an encoder-decoder cut between ranks" plan --chip h200 --dtype f16 --ranks 3 "$models/t5-base"
    grep -q '^rank 2 .* layers [0-9]* to 23, ' "$work/out" || fail "plan --ranks does not count a decoder's layers on"
    expect 0 "plan, layers cut between ranks --json" plan --chip h200 --ranks 2 --json "$models/gpt2"
    grep -q '"ranks":\[{"first_layer":0,' "$work/out" || fail "plan --ranks --json does not say where the cut is"
    expect 1 "plan, ranks with too little memory" plan --chip rtx4070 --ranks 2 "$models/llama-3.1-8b"
    says "plan, ranks with too little memory" 'the model does not fit: its 32 layers'
    expect 1 "plan, an encoder cut between ranks" plan --chip h200 --ranks 2 "$models/bert-base"
    expect 2 "plan on all chips, cut between ranks" plan --chip all --ranks 2 "$models/gpt2"
    expect 2 "plan without a chip" plan "$models/gpt2"
    expect 2 "plan without a model" plan --chip m2
    expect 2 "plan, a list and a model" plan --list-chips "$models/gpt2"
    expect 2 "plan, prompt 0" plan --chip m2 --prompt 0 "$models/gpt2"
    expect 2 "plan, type that is none" plan --chip m2 --dtype f64 "$models/gpt2"
    expect 1 "plan, chip that is none" plan --chip voodoo2 "$models/gpt2"
    says "plan, chip that is none" 'there are a770, adreno750'
    expect 1 "plan, file that is not there" plan --chip "$work/none.json" "$models/gpt2"
    expect 1 "plan, model that is not there" plan --chip m2 "$work/none"
    printf '{"profiles": {"a": {"capabilities": ["c"]}, "b": {"capabilities": []}}, "capabilities": {"c": {"features":
        {"VkPhysicalDeviceVulkan12Features": {"shaderFloat16": "yes"}}}}}' >"$work/two.json"
    expect 1 "plan, one of two profiles" plan --chip "$work/two.json" "$models/gpt2"
    says "plan, one of two profiles" 'name one of its profiles: it has a, b'
    expect 1 "plan, key of a wrong type" plan --chip "$work/two.json#a" "$models/gpt2"
    says "plan, key of a wrong type" "'shaderFloat16' of 'VkPhysicalDeviceVulkan12Features'"
    expect 1 "plan, Vulkan 1.0" plan --chip "$work/two.json#b" "$models/gpt2"
    says "plan, Vulkan 1.0" 'at least 1\.1 is needed'
    for chip in "$chips"/*.json; do
        chip=$(basename "$chip" .json)
        expect 0 "plan --chip $chip" plan --chip "$chip" --dtype f16 "$models/gpt2"
        grep -q 'estimate: .* for a token' "$work/out" || fail "plan --chip $chip estimates nothing"
    done
    sed 's/"speed"/"speeds"/' "$chips/m2.json" >"$work/slow.json"
    expect 0 "plan without speeds" plan --chip "$work/slow.json" "$models/gpt2"
    grep -q '^no times' "$work/out" || fail "plan without speeds does not say so"
    sed 's/"memory_bytes_per_s"/"bandwidth"/' "$chips/m2.json" >"$work/slow.json"
    expect 1 "plan without a bandwidth" plan --chip "$work/slow.json" "$models/gpt2"
    says "plan without a bandwidth" "'memory_bytes_per_s' of 'speed'"
    expect 0 "plan under a profile" plan --chip rtx4090 --caps android-baseline-2022 "$models/gpt2" --json
    expect 0 "plan under a file" plan --chip rtx4090 --dtype f16 --caps "$chips/adreno750.json" "$models/gpt2"
    ! grep -q coopmat "$work/out" || fail "plan under a file takes what the file does not have"
}

devices() {
    expect 0 "caps of a file" info --caps "$here/../../tools/chips/described/adreno750.json"
    expect 2 "caps of a file that is not there" info --caps "$work/none.json"
    expect 1 "device index of none" info --device 999
    expect 1 "device name of none" info --device 'no such device'
    expect 1 "uuid of none" info --device uuid:ffffffffffffffffffffffffffffffff
    expect 1 "unknown device, run" run --device 999 "$model" one
    expect 1 "unknown mask" info --mask frobnicate
    expect 1 "limit without a number" info --mask maxComputeWorkGroupInvocations=many
    expect 1 "limit without a value" info --mask maxComputeWorkGroupInvocations
    expect 1 "device below the floor" run --mask maxComputeWorkGroupInvocations=1 "$model" one
    expect 1 "info where no device is enough" info --mask maxComputeWorkGroupInvocations=1
    for profile in android-baseline-2022 android-2025 roadmap-2026 full; do
        expect 0 "info --caps $profile" info --caps "$profile" --kernels
    done
    expect 0 "info --json" info --json --kernels
    grep -q '^{.*"usable":true.*}$' "$work/out" || fail "info --json: no usable device on one line"
    expect 0 "cache that cannot be made" run --cache /dev/null/cache "$model" one
    says "cache that cannot be made" 'cache'
    expect 0 "no cache" run --no-cache "$model" one
    output "no cache" eins
}

corrupt_cache() {
    expect 0 "filling the cache" run --cache "$work/corrupt" "$model" one
    for file in "$work"/corrupt/*; do
        [ -f "$file" ] || continue
        printf 'rubbish' >"$file"
    done
    expect 0 "corrupt cache" run --cache "$work/corrupt" "$model" one
    output "corrupt cache" eins
    rm -rf "$work/corrupt"/*
    mkdir -p "$work/corrupt"
    expect 0 "empty cache" run --cache "$work/corrupt" "$model" one
}

# More of them are in test_bench.
benchmarks() {
    options="--no-roof --repetitions 2"
    # shellcheck disable=SC2086
    {
        expect 0 "gemm" bench gemm --m 33 --n 17 --k 65 --warmup 0 $options
        expect 0 "gemm, one JSON object" bench gemm --m 33 --n 17 --k 65 --json --transpose-b $options
        grep -q '^{"op":"gemm","shape":{"m":33,"n":17,"k":65.*"gflops":.*}$' "$work/out" ||
            fail "gemm --json: no such object"
        expect 0 "attention" bench attention --batch 2 --heads 2 --q-len 5 --kv-len 7 --head-dim 8 $options
        expect 0 "attention, causal, JSON" bench attention --heads 2 --q-len 5 --head-dim 8 --causal --json $options
        expect 0 "multi-head attention" bench mha --batch 2 --q-len 5 --kv-len 7 --embed-dim 16 --heads 2 --details \
            $options
        expect 0 "encoder layer" bench layer --kind encoder --d-model 16 --heads 2 --ff 32 --len 5 --details $options
        expect 0 "decoder layer" bench layer --kind decoder --d-model 16 --heads 2 --ff 32 --len 5 --memory-len 3 \
            --batch 2 --json $options
        expect 0 "a layer both ways" bench backward --d-model 16 --heads 2 --ff 32 --len 5 --json $options
        grep -q '^{"op":"backward","shape":{"batch":1,"len":5,.*' "$work/out" || fail "backward --json: no such object"
        expect 1 "gemm beyond any memory" bench gemm --m 16777216 --n 16777216 --k 16777216 $options
        expect 1 "attention beyond any memory" bench attention --batch 65536 --heads 4096 --q-len 1048576 \
            --head-dim 4096 $options
        expect 1 "multi-head attention beyond any memory" bench mha --batch 65536 --q-len 1048576 --embed-dim 1048576 \
            --heads 4096 $options
        expect 1 "layer beyond any memory" bench layer --kind encoder --d-model 1048576 --heads 1 --ff 4194304 \
            --len 1048576 $options
    }
}

standard_output() {
    [ -c /dev/full ] || return
    timeout 60 "$program" run "$model" one </dev/null >/dev/full 2>"$work/err"
    code=$?
    if [ "$code" -eq 1 ] && [ -s "$work/err" ]; then
        passed=$((passed + 1))
    else
        fail "full disk: exit code $code"
    fi
}

# A fresh copy of the model to spoil, in $work/bad.
fresh() {
    rm -rf "$work/bad"
    mkdir "$work/bad"
    cp "$model/config.json" "$model/model.safetensors" "$model/vocabulary.json" "$work/bad/"
}

# refused NAME: the model in $work/bad.
refused() {
    expect 1 "$1" run "$work/bad" one
}

# configured NAME KEY VALUE: config.json with one value changed.
configured() {
    fresh
    sed "s/\"$2\": *[^,}]*/\"$2\": $3/" "$model/config.json" >"$work/bad/config.json"
    if cmp -s "$model/config.json" "$work/bad/config.json"; then
        fail "config.json has no $2 to change"
    fi
    refused "config.json with $2 $3"
}

broken_models() {
    expect 1 "model that is not there" run /nonexistent one
    expect 1 "model that is a file" run "$model/config.json" one
    expect 1 "model of an empty name" run '' one
    mkdir "$work/nothing"
    expect 1 "empty directory" run "$work/nothing" one
    for file in config.json model.safetensors vocabulary.json; do
        fresh
        rm "$work/bad/$file"
        refused "no $file"
        mkdir "$work/bad/$file"
        refused "$file is a directory"
        rmdir "$work/bad/$file"
        : >"$work/bad/$file"
        refused "$file is empty"
        fresh
        head -c 1000 /dev/urandom >"$work/bad/$file"
        refused "$file is noise"
        fresh
        chmod 0 "$work/bad/$file"
        if ! [ -r "$work/bad/$file" ]; then refused "$file is not readable"; fi
    done
    fresh
    rm "$work/bad/model.safetensors"
    mkfifo "$work/bad/model.safetensors" && refused "model.safetensors is a FIFO"
}

truncated_weights() {
    size=$(wc -c <"$model/model.safetensors")
    for length in 1 7 8 9 100 $((size / 2)) $((size - 1)); do
        fresh
        head -c "$length" "$model/model.safetensors" >"$work/bad/model.safetensors"
        refused "model.safetensors cut to $length bytes"
    done
    fresh
    printf 'x' >>"$work/bad/model.safetensors"
    refused "model.safetensors with a byte too many"
    fresh
    printf '\377\377\377\377\377\377\377\377{}' >"$work/bad/model.safetensors"
    refused "header of 2^64 bytes"
    printf '\002\000\000\000\000\000\000\000{}' >"$work/bad/model.safetensors"
    refused "weights without a tensor"
}

broken_configurations() {
    for value in -1 1.5 4294967295 99999999999999999999 '"128"' null 127 1000000; do
        configured "d_model" d_model "$value"
        configured "nhead" nhead "$value"
        configured "num_encoder_layers" num_encoder_layers "$value"
        configured "src_vocab" src_vocab "$value"
    done
    for value in 0 128.5 '{}' '[]'; do
        configured "d_model" d_model "$value"
        configured "nhead" nhead "$value"
    done
    for value in -1 4294967295 '"x"' 5; do
        configured "dim_feedforward" dim_feedforward "$value"
        configured "num_decoder_layers" num_decoder_layers "$value"
        configured "tgt_vocab" tgt_vocab "$value"
    done
    for value in 0 -1 99999999999999999999 '"x"'; do
        configured "max_len" max_len "$value"
        configured "max_source_len" max_source_len "$value"
    done
    configured "activation" activation '"frobnicate"'
    configured "model_type" model_type '"frobnicate"'
    configured "norm_first" norm_first 3
    configured "layer_norm_eps" layer_norm_eps '"x"'
    for text in '[]' '{}' '{' 'null' '{"d_model": 128}'; do
        fresh
        printf '%s' "$text" >"$work/bad/config.json"
        refused "config.json of $text"
    done
}

broken_vocabularies() {
    for text in '[]' '{}' '{"source": {"tokens": []}, "target": {"tokens": []}}' '{"source": {"tokens": "x"}}' \
        '{"source": {"tokens": ["<pad>", "<bos>", "<eos>", "<unk>", "", "a"]}, "target": {"tokens": ["<pad>"]}}' \
        '{"source": {"tokens": ["<pad>", "<bos>", "<eos>", "<unk>", "a"], "append_eos": true},
          "target": {"tokens": ["<pad>", "<bos>", "<eos>", "<unk>", "b"]}}'; do
        fresh
        printf '%s' "$text" >"$work/bad/vocabulary.json"
        refused "vocabulary.json of $text"
    done
}

command_line
plans
without_vulkan
if "$program" info >/dev/null 2>&1; then
    devices
    corrupt_cache
    benchmarks
    standard_output
    broken_models
    truncated_weights
    broken_configurations
    broken_vocabularies
else
    echo "no Vulkan device: what needs one was skipped"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
