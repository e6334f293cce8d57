#!/usr/bin/env node
import { startPinned } from '../../scripts/pinned-node.mjs'
import { nodeFlagsOf } from './node-flags.mjs'
import { onNpmShellEnd } from './npm-shell.mjs'

// If `startPinned` runs the server as a child process, the child notices that this process has ended, and stops.
onNpmShellEnd(process.env, () => process.exit(1))
await startPinned(new URL('../main.ts', import.meta.url), nodeFlagsOf(process.argv[2]))
