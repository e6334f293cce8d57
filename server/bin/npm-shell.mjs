// npm runs a script in a shell and passes signals only to that shell. bash replaces itself with the
// command, so the command gets them; dash, the `sh` of Debian and Ubuntu, waits for the command,
// and SIGTERM ends dash alone. A server that npm runs therefore also stops when its parent process
// is gone.

/** The names under which npm runs `npm start` and `npx`. Other scripts may leave a server running on purpose. */
const scripts = ['start', 'npx']
const checkIntervalMs = 200
const parent = process.ppid

/** Calls `listener` when the shell in which npm runs this process has ended. On Windows, `ppid` never changes. */
export function onNpmShellEnd(env, listener) {
  if (!scripts.includes(env.npm_lifecycle_event)) return
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    listener()
  }, checkIntervalMs)
  timer.unref()
}
