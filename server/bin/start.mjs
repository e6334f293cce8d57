// Runs stemmad on the Node that the launcher has chosen.
import { pathToFileURL } from 'node:url'
import { serverProgram } from './program.mjs'

await import(pathToFileURL(serverProgram()))
