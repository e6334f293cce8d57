#!/usr/bin/env node
import { startPinned } from '../../scripts/pinned-node.mjs'
import { nodeFlagsOf } from './node-flags.mjs'
import { onNpmShellEnd } from './npm-shell.mjs'

// If the server is a child process, it notices the end of this process and stops.
onNpmShellEnd(process.env, () => process.exit(1))
await startPinned(new URL('../main.ts', import.meta.url), nodeFlagsOf(process.argv[2]))
