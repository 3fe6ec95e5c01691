#!/usr/bin/env bash
# async_timeout ends with ETIMEDOUT when no server answers, and its server ends silent clients.
source "$(dirname "$0")/support/async.bash"

timed_out='^async_timeout: async::connection::next: ETIMEDOUT .*; the deadline of the connection has passed$'
start server async_timeout
start mute async_timeout --mute --port 7472 --idle 5000
start patient async_timeout --mute --port 7473 --idle 3600000

succeeds "an answer" '^the server on port 7471 answered$' async_timeout "$host" \
  --patience 60000
# On a slow machine the question may still be in progress when the other server has answered.
succeeds "a server that is too late" \
  '^the server on port 7473: (async::connection::next|ibv_post_send): ECANCELED .*; the program has cancelled it$' \
  async_timeout "$host" --ports 7471,7473 --patience 60000
refuses "no answer" 1 \
  '(async::connection::next|ibv_post_send): ETIMEDOUT .*; the deadline of the connection has passed$' \
  async_timeout "$host" --ports 7473 --patience 200
refuses "a client that is silent for too long" 1 'the server ended the connection' \
  async_timeout "$host" --ports 7472 --patience 60000
wait_for_line mute "$timed_out" "${processes[mute]}"
prints mute "$timed_out"

vanish async_timeout "$host" --ports 7473
refuses "after clients that vanished" 1 ETIMEDOUT async_timeout "$host" --ports 7473 --patience 200
interrupt server
interrupt mute
interrupt patient
finish
