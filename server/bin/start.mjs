// Runs stemmad on the Node that the launcher has chosen.
import { pathToFileURL } from 'node:url'
import './npm-shell.mjs' // notes the parent process before a bundle is made
import { serverProgram } from './program.mjs'

await import(pathToFileURL(serverProgram()))
