// The completion scripts of the shells. They call `stemma __complete`, which prints one candidate per line, or `:files`
// if the shell should complete file names.

/** Candidates are quoted, since names may contain spaces. */
const bash = `# bash completion for stemma
_stemma() {
  local line words=("\${COMP_WORDS[@]:1:COMP_CWORD}") current
  # Bash splits words at = and :, stemma does not.
  if declare -F _get_comp_words_by_ref >/dev/null; then
    local cur words_ref cword_ref
    _get_comp_words_by_ref -n =: -w words_ref -i cword_ref cur
    words=("\${words_ref[@]:1:cword_ref}")
  else
    local joined=() word
    for word in "\${words[@]}"; do
      if (( \${#joined[@]} )) && [[ $word == [=:]* || \${joined[-1]} == *[=:] ]] && [[ \${joined[-1]} != "" ]]; then
        joined[-1]+=$word
      else
        joined+=("$word")
      fi
    done
    words=("\${joined[@]}")
  fi
  # Remove the backslashes of quoted names.
  words=("\${words[@]//\\\\/}")
  current=\${words[-1]}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      # Right after = or :, the last word of bash is this character.
      mapfile -t COMPREPLY < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]#[=:]}")
      compopt -o filenames
      return
    fi
    line=\${line%%$'\\t'*}
    # Bash replaces only the part after the last = or : of the word.
    local suffix=\${current##*[=:]}
    line=\${line#"\${current%"$suffix"}"}
    COMPREPLY+=("$(printf %q "$line")")
  done < <(stemma __complete -- "\${words[@]}" 2>/dev/null)
}
complete -F _stemma stemma
`

const zsh = `#compdef stemma
_stemma() {
  local line word tab=$'\\t'
  local -a lines candidates
  lines=("\${(@f)$(stemma __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    if [[ $line == :files ]]; then
      # The value of a flag that is written as --flag=value begins after the =.
      compset -P '--*='
      _files
      return
    fi
    word=\${line%%$tab*}
    word=\${word//:/\\\\:}
    [[ $line == *$tab* ]] && word="$word:\${line#*$tab}"
    candidates+=("$word")
  done
  _describe stemma candidates
}
compdef _stemma stemma
`

const fish = `# fish completion for stemma
function __stemma_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines (stemma __complete -- $words[2..-1] 2>/dev/null)
  if test "$lines[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c stemma -f -a '(__stemma_complete)'
`

export const scripts: Record<string, string> = { bash, zsh, fish }
