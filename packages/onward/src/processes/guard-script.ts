/**
 * The guard, for any POSIX `sh`: $1 is the marker, $2 how processes are found (`proc`, `plain` or `ps`), $3
 * the leader of the agent's group where it is known already, fd 3 the pipe from Onward.
 * Lines on it: `agent PID` names the leader of the agent's group, `done` ends the guard. End of file without `done` means
 * that Onward is dead: then everything that carries the marker is killed, until ten looks in a row found nothing (a
 * process shows no environment for a moment while it executes a new program: on a busy machine that may last).
 *
 * One `grep` reads all environments, since a process per process would take seconds; where it lacks -z (BusyBox; `plain`) the few
 * hits are looked at again, so that a marker never matches one it is a prefix of.
 */
export const guardScript: string = String.raw`
trap '' HUP INT TERM
marker=$1 method=$2 agent=$3
while IFS= read -r line <&3; do
  case $line in
    agent\ *) agent=\${line#agent } ;;
    done) exit 0 ;;
  esac
done
entry=ONWARD_ATTEMPT=$marker
exact=
if [ "$method" = proc ] && printf 'a\0b\0' | grep -qzxF b 2>/dev/null; then exact=z; fi
by_proc() {
  if [ $exact ]; then
    grep -lzxF -e "$entry" /proc/[0-9]*/environ 2>/dev/null
    return
  fi
  for file in $(grep -lF -e "$entry" /proc/[0-9]*/environ 2>/dev/null); do
    if tr '\0' '\n' 2>/dev/null <"$file" | grep -qxF -e "$entry"; then echo "$file"; fi
  done
}
by_ps() {
  ps -axo pid=,ppid=,pgid=,state= 2>/dev/null | awk -v root="$agent" -v guard=$$ '
    $4 !~ /^Z/ && $1 != guard { parent[$1] = $2; if (root != "" && ($1 == root || $3 == root)) ours[$1] = 1 }
    END {
      do {
        more = 0
        for (pid in parent) if (!(pid in ours) && (parent[pid] in ours)) { ours[pid] = 1; more = 1 }
      } while (more)
      for (pid in ours) print pid
    }'
}
empty=0 rounds=0
while [ $empty -lt 10 ] && [ $rounds -lt 400 ]; do
  rounds=$((rounds + 1)) pids=
  if [ "$method" != ps ]; then
    for file in $(by_proc); do
      pid=\${file#/proc/}
      pids="$pids \${pid%/environ}"
    done
  else
    pids=$(by_ps)
  fi
  if [ "$agent" ]; then kill -s KILL -- "-$agent" 2>/dev/null; fi
  if [ "$pids" ]; then
    empty=0
    kill -s KILL -- $pids 2>/dev/null
  else
    empty=$((empty + 1))
  fi
  sleep 0.05 2>/dev/null || sleep 1
done
`.replaceAll(String.raw`\$`, '$');
