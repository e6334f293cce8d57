#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { runPinned } from '../../scripts/pinned-node.mjs'
import { nodeFlags } from './node-flags.mjs'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
process.exitCode = await runPinned([...nodeFlags, main, ...process.argv.slice(2)])
