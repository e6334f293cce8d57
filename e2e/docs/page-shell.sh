# Runs the blocks of a page. Reads the file name of each block from file descriptor 3, and writes `done` to file
# descriptor 4 when the block has run.
# Stricter than an interactive shell, so that no failure goes unnoticed.
set -Eeuo pipefail
shopt -s inherit_errexit 2>/dev/null || true # needs Bash 4.4
trap 'echo "line $LINENO failed: $BASH_COMMAND" >&2' ERR

# Wraps curl to record the status of each response.
curl() {
  local head code=0
  head=$(mktemp "$PAGE_STATE/call.XXXXXX")
  command curl -D "$head" "$@" || code=$?
  [ "$code" = 0 ] || echo "curl ended with $code" >>"$head"
  return "$code"
}

# Replaces npx, which takes longer to start than most of these programs run. Runs the installed program of a package, on
# the Node that it needs: another Node would first start this one.
npx() {
  local program
  case $1 in
    @stemma/cli) program=$PAGE_CLI ;;
    @stemma/server) program=./node_modules/.bin/stemmad ;;
    @bufbuild/buf) program=./node_modules/.bin/buf ;;
    *) echo "npx would install $1" >&2 && return 1 ;;
  esac
  shift
  "$PAGE_NODE" "$program" "$@"
}

# Starts a server in the background, after stopping the one that used its port before. $1 is the port; the command is
# read from standard input.
in_background() {
  local log=$PAGE_STATE/$1.log pid=$PAGE_STATE/$1.pid command
  command=$(cat)
  [ ! -e "$pid" ] || stop_server "$(cat "$pid")"
  : >"$log"
  set -m # a process group of its own
  eval "$command" >>"$log" 2>&1 </dev/null &
  set +m
  echo $! >"$pid"
  until grep -q 'Stop with Ctrl-C' "$log"; do
    kill -0 $! 2>/dev/null || { cat "$log" && return 1; }
    sleep 0.05
  done
}

stop_server() {
  kill -TERM -- "-$1" 2>/dev/null || true
  while kill -0 -- "-$1" 2>/dev/null; do sleep 0.05; done
}

while IFS= read -r PAGE_BLOCK <&3; do
  . "$PAGE_BLOCK" </dev/null >"$PAGE_BLOCK.output" 2>&1
  echo done >&4
done
