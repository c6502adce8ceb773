# shellcheck shell=sh
# The end of the script that gathers facts: wait for the sections, then tell everything, framed.
# Needs: begin.sh, whole_seconds.
#
# The answer: a line `bringup-facts 1 MARK`, `wc -c` of every item, then each item after a line MARK, and MARK end.
# Both lengths and the random mark must fit: any bytes survive, and what was cut is noticed.
alarm "$whole_seconds" >/dev/null 2>&1 &
alarm_pid=$!

while [ "$started" -gt 0 ]; do
    read -r ended <&3
    [ "$ended" != late ] || break
    started=$((started - 1))
done
kill "$alarm_pid" 2>/dev/null

printf '%s\n%s\n' "$begun" "$(date +%s.%N)" >clock.out
printf '\n%s\n' "$mark" >.mark
set -- *.out *.err *.end *.status
{
    printf 'bringup-facts 1 %s\n' "$mark"
    wc -c "$@"
    for item in "$@"; do
        set -- "$@" .mark "$item"
        shift
    done
    cat "$@" .mark
    printf 'end\n'
} | dd obs=65536 2>/dev/null # else every item is a packet of its own, to be encrypted here and decrypted there
