export const completionHelp = `Usage: stemma completion bash|zsh|fish

Prints a script that lets your shell complete commands, flags, values and names of resources.

  bash   source <(stemma completion bash)                      # in ~/.bashrc
  zsh    source <(stemma completion zsh)                       # in ~/.zshrc, after compinit
  fish   stemma completion fish > ~/.config/fish/completions/stemma.fish`
