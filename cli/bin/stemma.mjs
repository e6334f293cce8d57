#!/usr/bin/env node
// Starts one of the two programs of the package: `stemma` or the credential helper of Docker. With a launcher for each,
// `npx @stemma/cli` would not know which one to run.
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { startPinned } from '../../scripts/pinned-node.mjs'

const [, program, ...args] = process.argv
const helperCommands = ['get', 'store', 'erase', 'list']
const isCredentialHelper =
  basename(program).startsWith('docker-credential-') ||
  // On Windows, npm starts the launcher by its own name, whichever of the programs was called.
  (process.platform === 'win32' && args.length === 1 && helperCommands.includes(args[0]))

// Packages and container images contain a bundle of the programs.
const [bundled, source] = isCredentialHelper
  ? ['../bundle/credential-helper.mjs', '../credential-helper/main.ts']
  : ['../bundle/main.mjs', '../main.ts']
const bundle = new URL(bundled, import.meta.url)
await startPinned(existsSync(bundle) ? bundle : new URL(source, import.meta.url))
