# shellcheck shell=bash
# Sourced by the tests of file_transfer.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

program=$programs/file_transfer
address=${SOFTRDMA_ADDRESS:?}
sources=$scratch/sources
folder=$scratch/folder
mkdir "$sources" "$folder"
cd "$sources" || exit

# The failures that the programs print are in *.out, their other output in *.txt. They are run without
# `timeout`, because some signals would not reach them through it.

# start_receiver OPTION…: with an empty folder. Sets `receiver`.
start_receiver() {
  rm -rf "${folder:?}"/*
  : >"$scratch/receiver.txt"
  "$program" receive -d "$folder" "$@" >"$scratch/receiver.txt" 2>"$scratch/receiver.out" &
  receiver=$!
  until [[ $(<"$scratch/receiver.txt") == "receiving into "* ]] || ! kill -0 "$receiver"; do
    pause 0.02
  done
}
# end_receiver: sets receiver_status.
end_receiver() {
  receiver_status=0
  wait "$receiver" || receiver_status=$?
}

# start_sender FILE…: sets `sender`.
start_sender() {
  "$program" send "$@" --to "$address" >"$scratch/sender.txt" 2>"$scratch/sender.out" &
  sender=$!
}
# end_sender: sets sender_status.
end_sender() {
  sender_status=0
  wait "$sender" || sender_status=$?
}
send() {
  start_sender "$@"
  end_sender
}

# The output of ls for the folder of the receiver, with hidden files.
contents() {
  ls -A "$folder"
}

# until_under_way: until the receiver has written some of a file. Stops it then, so that the transfer is
# under way until go_on. Starts no process, which would take as long as sending it.
until_under_way() {
  local file
  while kill -0 "$sender" 2>/dev/null; do
    for file in "$folder"/.file_transfer.*; do
      if [[ -s $file ]]; then
        kill -STOP "$receiver"
        return
      fi
    done
    pause 0.005
  done
}
go_on() {
  kill -CONT "$receiver" 2>/dev/null
}

# failed_with NAME SENDER-PATTERN RECEIVER-PATTERN: both ended with status 1 and their sentence, and
# left nothing. An empty pattern stands for an end that was killed.
failed_with() {
  local name=$1 problem
  if [[ $2 ]]; then
    fails_with sender 1 "$sender_status" file_transfer "$2"
    verdict "$name, the sender" "$problem"
  fi
  if [[ $3 ]]; then
    fails_with receiver 1 "$receiver_status" file_transfer "$3"
    verdict "$name, the receiver" "$problem"
    problem=''
    [[ -z $(contents) ]] || problem="the receiver has left behind $(contents)"
    verdict "$name leaves nothing" "$problem"
  fi
}

# arrives NAME FILE…: the receiver has these, as they are, and nothing else; both ends ended well.
arrives() {
  local name=$1 problem='' file
  shift
  if [[ $sender_status -ne 0 || $receiver_status -ne 0 ]]; then
    problem="the sender ended with $sender_status, the receiver with $receiver_status"
  elif [[ $(contents) != "$(printf '%s\n' "${@##*/}" | sort)" ]]; then
    problem="the receiver has $(contents)"
  else
    for file in "$@"; do
      cmp -s "$file" "$folder/${file##*/}" || problem="$file arrived with other bytes"
    done
  fi
  verdict "$name" "$problem"
}

large=24000000
block=262144
