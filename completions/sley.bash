# SPDX-License-Identifier: Apache-2.0
# Bash completion for sley. Installed as share/bash-completion/completions/sley. The command itself says which words may follow
# (`sley words`), from the tables that it reads its own words by.

_sley() {
  local word="${COMP_WORDS[COMP_CWORD]}" words
  words=$("${COMP_WORDS[0]/#\~/$HOME}" words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  [[ "$word" == -* ]] || words=$(grep -v '^-' <<<"$words")
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [ -z "$words" ] && [[ "$word" != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -W "twin: rmat: er:" -- "$word")
    compopt -o filenames -o nospace 2>/dev/null
  fi
}
complete -F _sley sley
