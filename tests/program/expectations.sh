# shellcheck shell=sh
# What the scripts here that test the command line have in common: their arguments are PROGRAM [MODEL].

program=$1
here=$(cd "$(dirname "$0")" && pwd)
model=${2:-$here/../../tools/demo-model}
if ! [ -x "$program" ] || ! [ -f "$model/config.json" ]; then
    echo "usage: $(basename "$0") PROGRAM [MODEL]" >&2
    exit 2
fi
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
passed=0
failed=0
environment= # assignments for the program's environment

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    sed 's/^/    stderr: /' "$work/err" | head -n 5
}

# expect CODES NAME ARGUMENT...: runs the program; its exit code must be one of CODES ("1 2"), and a failure must say
# why. The standard input is $work/in, emptied afterwards; what came out stays in $work/out and $work/err.
expect() {
    codes=$1
    name=$2
    shift 2
    [ -f "$work/in" ] || : >"$work/in"
    # shellcheck disable=SC2086
    timeout 300 env $environment "$program" "$@" <"$work/in" >"$work/out" 2>"$work/err"
    code=$?
    : >"$work/in"
    case " $codes " in
    *" $code "*) ;;
    *)
        fail "$name: exit code $code, not one of: $codes"
        return 1
        ;;
    esac
    if [ "$code" -ne 0 ] && ! [ -s "$work/err" ]; then
        fail "$name: exit code $code without a message"
        return 1
    fi
    if grep -q 'Sanitizer:\|runtime error:' "$work/err"; then
        fail "$name: a sanitizer's report"
        return 1
    fi
    passed=$((passed + 1))
}

# output NAME EXPECTED: compares what the last command printed.
output() {
    printf '%s\n' "$2" >"$work/expected"
    if cmp -s "$work/expected" "$work/out"; then
        passed=$((passed + 1))
    else
        fail "$1: wrong output"
        diff "$work/expected" "$work/out" | head -n 5
    fi
}

# says NAME PATTERN: something in the last command's messages.
says() {
    if grep -q -- "$2" "$work/err"; then
        passed=$((passed + 1))
    else
        fail "$1: no message like '$2'"
    fi
}

