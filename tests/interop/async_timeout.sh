#!/usr/bin/env bash
# async_timeout ends with ETIMEDOUT when no server answers, and its server ends silent clients.
source "$(dirname "$0")/support/async.bash"

timed_out='^async_timeout: async::connection::next: ETIMEDOUT .*; the deadline of the connection has passed$'
start server async_timeout
start mute async_timeout --mute --port 7472 --idle 1000

succeeds "an answer" '^the server on port 7471 answered$' async_timeout "$host"
# On a slow machine the question may still be in progress when the other server has answered.
succeeds "a server that is too late" \
  '^the server on port 7472: (async::connection::next|ibv_post_send): ECANCELED .*; the program has cancelled it$' \
  async_timeout "$host" --ports 7471,7472
refuses "no answer" 1 "$timed_out" async_timeout "$host" --ports 7472 --patience 200
refuses "a client that is silent for too long" 1 'the server ended the connection' \
  async_timeout "$host" --ports 7472 --patience 60000
prints mute "$timed_out"

vanish async_timeout "$host" --ports 7472
refuses "after clients that vanished" 1 ETIMEDOUT async_timeout "$host" --ports 7472 --patience 200
interrupt server
interrupt mute
finish
