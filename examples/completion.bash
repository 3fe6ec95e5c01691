# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Completes the options of the examples and of adverb_perf in Bash: `source examples/completion.bash`.

# The options come from --help; after a command such as `file_transfer send` they are those of the
# command.
_adverb_options() {
  local asked=("$1")
  if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != -* ]]; then
    asked+=("${COMP_WORDS[1]}")
  fi
  [[ $2 == -* ]] || return 0
  mapfile -t COMPREPLY < <(
    compgen -W "$("${asked[@]}" --help 2>/dev/null | grep -oE -e '--[a-z][a-z_-]*' | sort -u)" -- "$2"
  )
}

_adverb_complete_all() {
  local source
  for source in "$(dirname "${BASH_SOURCE[0]}")"/*.cpp; do
    complete -o default -F _adverb_options "$(basename "$source" .cpp)"
  done
  complete -o default -F _adverb_options adverb_perf
}
_adverb_complete_all
unset -f _adverb_complete_all
