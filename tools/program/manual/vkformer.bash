# Completion of vkformer(1) for bash.
_vkformer() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} word words
    local common="--device --caps --mask --cache --no-cache --validate --verbose --debug --quiet --variant --no-self-test
        --tune --arithmetic --shader-dir --help"
    local measuring="$common --dtype --json --no-roof --output --repetitions --settle --shapes --types --warmup --watch --watch-runs"
    local model="--d-model --heads --ff --encoder-layers --decoder-layers --vocab --batch --source-len --target-len"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words="info inspect plan run embed rerank quantize eval compare bench profile tokenize train tune shaders help --help --version"
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi

    case $previous in
    --device) words="best discrete integrated virtual cpu reference uuid:" ;;
    --caps)
        mapfile -t COMPREPLY < <(compgen -f -W "full android-baseline-2022 android-2025 roadmap-2026" -- "$current")
        return
        ;;
    --chip)
        words="all a770 adreno750 adreno840 h200 m2 mali-g715 rtx3090 rtx4070 rtx4090 rtx5090 rx6800xt rx7800xt rx7900xtx"
        mapfile -t COMPREPLY < <(compgen -f -W "$words" -- "$current")
        return
        ;;
    --arithmetic) words="full f16 f16-sums" ;;
    --peer) words="ggml" ;;
    --dtype) words="auto f32 f16 f32/f16 f32/bf16" ;;
    --cache-type) words="f32 f16" ;;
    --early-stopping) words="yes no never" ;;
    --quantize) words="q8 q4" ;;
    --type) words="q8 q4 same" ;;
    --types)
        [[ $command == bench ]] || return
        words="f32 f16 f32/f16 f32/bf16"
        ;;
    --output | -o)
        if [[ $command == tokenize ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
        fi
        words="table json jsonl csv md"
        [[ $command == embed ]] && words="jsonl json npy"
        [[ $command == profile ]] && words="table json csv trace html"
        ;;
    --fully-masked) words="nan zero" ;;
    --sort) words="file name error" ;;
    --activation) words="relu gelu" ;;
    --model-type) words="transformer gpt2 llama bert bart" ;;
    --optimizer) words="adamw adam sgd" ;;
    --schedule) words="constant linear cosine paper" ;;
    --parameters) words="all head lora" ;;
    --task) words="auto translate continue complete classify tag fill embed" ;;
    --loss-on) words="completion all" ;;
    --long) words="auto block cut drop" ;;
    --model | --tokenizer)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    --train | --heldout)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --weights) words="best packed rows" ;;
    --by) words="op layer dispatch" ;;
    --kind) words="encoder decoder" ;;
    --attention-of) words="encoder decoder cross" ;;
    --cache | --shader-dir | --out)
        [[ $command == embed && $previous == --out ]] && compopt -o default
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    --attention | --shapes | --search | --csv | --trace | --html)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --atol | --rtol | --variant | --shape | --time-cap | --mask | --only | --max-len | --top | --batch | --m | --n | --k | --heads | --q-len | \
        --kv-len | --head-dim | --kv-heads | --embed-dim | --d-model | --ff | --len | --memory-len | --repetitions | --settle | --warmup | --rows | --cols | \
        --dim | --encoder-layers | --decoder-layers | --vocab | --source-len | --target-len | --mib | --invocations | \
        --rounds | --chains | --max-new-tokens | --context | --stop | --beams | --length-penalty | --temperature | --top-k | --top-p | --min-p | \
        --repetition-penalty | --attention-layers | --attention-heads | --seed | --spec | --chip | --waves | --length | --new-tokens | --fail-above | --counters | \
        --steps | --epochs | --batch-tokens | --batch-rows | --accumulation | --label-smoothing | --dropout | \
        --attention-dropout | --activation-dropout | --contrastive-scale | --clip-norm | --eval-every | --patience | --save-every | --max-length | --max-bad-lines | --max-line-bytes | --nhead | \
        --dim-feedforward | --max-source-len | --lr | --betas | --eps | --weight-decay | --momentum | \
        --lora-rank | --lora-alpha | --lora-dropout | \
        --prompt | --prompt-name | --truncate-dim | --chunk)
        return
        ;;
    *)
        case $command in
        info) words="$common --json --counters --forget --kernels --shape --types" ;;
        tokenize) words="--pair --no-special-tokens --max-len --no-truncation --decode --null --output --quiet --help" ;;
        compare) words="--against --device --dump --atol --rtol --only --complete --sort --output --quiet --help" ;;
        train)
            words="$common --model --tokenizer --out --dtype --seed --parameters --steps --epochs
                --batch-tokens --batch-rows --accumulation --label-smoothing --dropout --clip-norm
                --attention-dropout --activation-dropout --contrastive-scale --nesterov
                --eval-every --patience --save-every --gradient-checkpointing --train --heldout
                --task --loss-on --long --max-length --pack --max-bad-lines --max-line-bytes --model-type --d-model --nhead --kv-heads --dim-feedforward
                --encoder-layers --decoder-layers --max-source-len --max-len --activation --norm-first --share-embed --tie-proj
                --optimizer --lr --betas --eps --weight-decay --momentum --schedule --warmup --lora-rank
                --lora-alpha --lora-dropout --lora-target --resume --check-gradients"
            ;;
        tune) words="$common --json --shapes --types --time-cap" ;;
        shaders) words="$common --all --defaults --statistics --asm --loops --chip --waves --spec --diff --fail-above --why --output" ;;
        inspect) words="$common --json --batch --context" ;;
        plan)
            words="--chip --list-chips --calibrate --peer --ranks --dtype --quantize --batch --prompt --context
                --json
                --caps --mask --variant --arithmetic --verbose --quiet --help"
            ;;
        quantize) words="--type --adapter --quiet --help" ;;
        profile)
            words="$common --batch --length --new-tokens --dtype --quantize --repetitions --warmup --settle --by --no-roof --overhead
                --output --json --csv --trace --html --check-numbers --dump --diff --fail-above --kind --activation --counters"
            ;;
        embed)
            words="$common --batch --max-len --dtype --quantize --adapter --files --chunk --output --out --compare --search --top
                --prompt --prompt-name --truncate-dim"
            ;;
        rerank) words="$common --top --files --output --batch --max-len --dtype --quantize --adapter" ;;
        run)
            words="$common --timing --check-numbers --dump --attention --attention-of --attention-layers --attention-heads --max-len --batch --dtype --quantize --adapter --json --max-new-tokens --context --stop
                --temperature --top-k --top-p --min-p --repetition-penalty --seed --pair
                --cache-type --beams --length-penalty --early-stopping"
            ;;
        eval) words="--cases --draws --seed --output $common --out --fully-masked --only --unfused --dtype" ;;
        bench)
            words="gemm gemv attention mha softmax norm permute layer backward model decode train copy fma cases"
            for word in "${COMP_WORDS[@]:2}"; do
                case $word in
                gemm) words="$measuring --m --n --k --weights --transpose-b" ;;
                gemv) words="$measuring --m --n --k --weights" ;;
                attention)
                    words="$measuring --batch --heads --q-len --kv-len --head-dim --causal --kv-heads --gradients --details"
                    ;;
                mha) words="$measuring --batch --q-len --kv-len --embed-dim --heads --causal --details" ;;
                softmax) words="$measuring --rows --cols" ;;
                norm) words="$measuring --rows --dim --residual" ;;
                permute) words="$measuring --batch --len --heads --head-dim --merge" ;;
                layer | backward)
                    words="$measuring --activation --kind --d-model --heads --ff --len --memory-len --batch --details"
                    ;;
                model | decode) words="$measuring $model" ;;
                train) words="$measuring $model --details" ;;
                copy) words="$measuring --mib" ;;
                fma) words="$measuring --invocations --rounds --chains" ;;
                cases) words="$common --draws --seed --repetitions --warmup --output" ;;
                *) continue ;;
                esac
                break
            done
            ;;
        esac
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ ($command == tokenize || $command == shaders || $command == train || $command == compare && $previous != -*) && $current != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    # Arguments that are directories: MODEL and CASES.
    if [[ $current != -* && $previous != --* && ($command == run || $command == embed || $command == rerank ||
        $command == inspect || $command == plan || $command == eval || $command == tune ||
        $previous == model || $previous == decode) ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
    fi
}
complete -o filenames -F _vkformer vkformer
