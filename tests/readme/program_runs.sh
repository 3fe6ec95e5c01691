#!/usr/bin/env bash
# The program in the README prints what it wrote.
set -eu
printed=$("${ADVERB_PROGRAMS:?}/readme_program")
echo "$printed"
[[ $printed == "written by RDMA" ]]
