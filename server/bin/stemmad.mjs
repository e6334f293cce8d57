#!/usr/bin/env node
import { startPinned } from '../../scripts/pinned-node.mjs'
import { allocatorEnvironment, nodeFlagsOf } from './node-flags.mjs'
import { onNpmShellEnd } from './npm-shell.mjs'

await startPinned(new URL('./start.mjs', import.meta.url), nodeFlagsOf(process.argv[2]), () => {
  process.env.MALLOC_ARENA_MAX ??= allocatorEnvironment.MALLOC_ARENA_MAX
  // Ending this process is enough: a child process notices that its parent has ended, and stops too.
  onNpmShellEnd(process.env, () => process.exit(1))
})
