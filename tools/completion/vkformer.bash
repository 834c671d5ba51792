# Completion of vkformer(1) for bash.
_vkformer() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} word words
    local common="--device --caps --mask --cache --no-cache --validate --verbose --shader-dir --help"
    local measuring="$common --dtype --json --repetitions --warmup"
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "info run eval bench --help --version" -- "$current")
        return
    fi

    case $previous in
    --device) words="best discrete integrated virtual cpu uuid:" ;;
    --caps) words="full android-baseline-2022 android-2025 roadmap-2026" ;;
    --dtype) words="f32 f16" ;;
    --fully-masked) words="nan zero" ;;
    --kind) words="encoder decoder" ;;
    --cache | --shader-dir | --out)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
    --attention)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    --mask | --only | --max-len | --batch | --m | --n | --k | --heads | --q-len | --kv-len | --head-dim | --d-model | \
        --ff | --len | --memory-len | --repetitions | --warmup)
        return
        ;;
    *)
        case $command in
        info) words="$common --json --kernels" ;;
        run) words="$common --timing --attention --max-len --batch --dtype" ;;
        eval) words="$common --out --fully-masked --only --dtype" ;;
        bench)
            words="gemm attention layer"
            for word in "${COMP_WORDS[@]:2}"; do
                case $word in
                gemm) words="$measuring --m --n --k --transpose-b" ;;
                attention) words="$measuring --batch --heads --q-len --kv-len --head-dim --causal --details" ;;
                layer) words="$measuring --kind --d-model --heads --ff --len --memory-len --batch --details" ;;
                *) continue ;;
                esac
                break
            done
            ;;
        esac
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    # Arguments that are directories: MODEL and CASES.
    if [[ $current != -* && $previous != --* && ($command == run || $command == eval) ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
    fi
}
complete -o filenames -F _vkformer vkformer
