#!/usr/bin/env bash
# chat passes each line to every other client, while one client is stopped and another is killed.
source "$(dirname "$0")/support/async.bash"

declare -A clients inputs
# join NAME ARGUMENT…: a client, whose input is the descriptor inputs[NAME]. Its output goes to NAME.out.
join() {
  local input
  mkfifo "$scratch/$1.in"
  : >"$scratch/$1.out"
  (
    for input in "${inputs[@]}"; do exec {input}>&-; done
    exec "$programs/chat" "$host" --name "$@" <"$scratch/$1.in" >"$scratch/$1.out" 2>&1
  ) &
  clients[$1]=$!
  exec {input}>"$scratch/$1.in"
  inputs[$1]=$input
}
say() {
  echo "$2" >&"${inputs[$1]}"
}
# Starting a process is slow where processors are emulated, so one grep looks at all outputs.
# everyone NAME PATTERN CLIENT…: each of these clients, or the server, prints such a line in time.
everyone() {
  local deadline=$((SECONDS + 60)) problem='' name=$1 pattern=$2
  shift 2
  local outputs=("${@/%/.out}")
  while true; do
    problem=$(cd "$scratch" && grep -LE -- "$pattern" "${outputs[@]}")
    if [[ -z $problem ]] || ((SECONDS >= deadline)); then break; fi
    pause 0.2
  done
  verdict "$name" "${problem:+not in ${problem//$'\n'/, }}"
}

# talk FROM WORD COUNT TO…: so many times 50 lines. The next 50 follow when these clients have them, so
# none of them is too slow.
talk() {
  local piece number
  for ((piece = 0; piece < 50 * $3; piece += 50)); do
    for number in {1..50}; do echo "$2 $((piece + number))"; done >&"${inputs[$1]}"
    everyone "$2s of $1 after $piece" "^$1: $2 $((piece + 50))$" "${@:4}"
  done
}

# A client of which nothing arrives for five seconds is gone. Only the one that is stopped may be.
start server chat --dead-after 300
others=()
for number in {1..30}; do others+=("c$number"); done
join stopped --dead-after 5
for each in "${others[@]}" killed; do
  join "$each" --dead-after 300
  # Siw loses what arrives while it answers a request.
  everyone "$each joins" "^$each joins$" server
done

say c1 'good morning'
say c2 $'\e[2Jhello'
everyone "a line" '^c1: good morning$' "${others[@]:1}" stopped killed
everyone "a line without control characters" '^c2: [?]\[2Jhello$' c1 stopped killed
problem=''
if has_line c1 '^c1: '; then problem="it got its own line"; fi
verdict "the client that said it" "$problem"

kill -STOP "${clients[stopped]}"
kill -KILL "${clients[killed]}"
talk c3 line 2 c1 c2 "${others[@]:3}"
everyone "the end of the killed client" '^killed is gone: ' "${others[@]}"
problem=$(cd "$scratch" && grep -c '^c3: line ' c{1,2}.out c{4..30}.out | grep -v ':100$')
verdict "each of 100 lines" "$problem"
everyone "the end of the stopped client" '^stopped is gone: ' "${others[@]}"

exec {inputs[c6]}>&-
status=0
wait "${clients[c6]}" || status=$?
problem=''
[[ $status -eq 0 ]] || problem="it ended with $status"
verdict "a client leaves" "$problem"
everyone "the others notice" '^c6 leaves$' c1
printf 'x%.0s' {1..2500} >"$scratch/long"
say c7 "$(<"$scratch/long")"
everyone "a long line in pieces" '^c7: x{500}$' c1

vanish chat "$host"
refuses "a client of another kind" 1 "rdma_connect|async::connect" async_echo "$host"
interrupt server
for each in c1 c7; do
  status=0
  wait "${clients[$each]}" || status=$?
  problem=''
  if [[ $status -ne 1 ]]; then
    problem="it ended with $status"
  elif ! has_line "$each" '^chat: messages::channel::next: ECONNRESET '; then
    problem="it does not report the end of the server"
  fi
  verdict "the end of the server, $each" "$problem"
done
# A client that stops and lives misses what the server does not keep for it. 400 lines may take longer than
# five seconds.
start server chat --dead-after 300
for each in fast talker slow; do
  join "$each" --dead-after 300
  everyone "$each joins" "^$each joins$" server
done
kill -STOP "${clients[slow]}"
talk talker more 8 fast
everyone "400 lines to the others" '^talker: more 400$' fast
kill -CONT "${clients[slow]}"
everyone "the first lines to a slow client" '^talker: more 200$' slow
say fast 'are you there'
everyone "what a slow client misses" '^you missed [0-9]+ lines$' slow
everyone "the next line to a slow client" '^fast: are you there$' slow
interrupt server
refuses "no server" 1 'ECONNREFUSED|Connection refused' chat "$host"
refuses "an unknown option" 2 'no-such' chat --no-such
finish
