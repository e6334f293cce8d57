#!/usr/bin/env node
// Starts one of the two programs of the package: `stemma` or the credential helper of Docker. With a launcher for each,
// `npx @stemma/cli` would not know which one to run.
import { basename } from 'node:path'
import { startPinned } from '../../scripts/pinned-node.mjs'

const [, program, ...args] = process.argv
const helperCommands = ['get', 'store', 'erase', 'list']
const isCredentialHelper =
  basename(program).startsWith('docker-credential-') ||
  // On Windows, npm starts the launcher by its own name, whichever of the programs was called.
  (process.platform === 'win32' && args.length === 1 && helperCommands.includes(args[0]))

await startPinned(
  new URL(isCredentialHelper ? '../credential-helper/main.ts' : '../main.ts', import.meta.url),
)
