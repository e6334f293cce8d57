// `stemma __complete -- WORD…`: what the last word may become, one on a line, with what it means behind a tab.
import type { JsonObject } from '@bufbuild/protobuf'
import { aboutOf } from '@stemma/api/reference/about.ts'
import { globalOptions, isSwitch, ownOptions } from '../arguments.ts'
import type { Command } from '../contract/commands.ts'
import { findCommand, findResource, resources } from '../contract/commands.ts'
import { enumNames } from '../contract/enums.ts'
import type { Flag } from '../contract/flags.ts'
import { flagsOf } from '../contract/flags.ts'
import { formats } from '../output/print.ts'
import { meant } from '../resources/input.ts'
import { scripts } from './scripts.ts'
import { suggestNames } from './suggest-names.ts'

export type Candidate = { word: string; about?: string }

const files: Candidate[] = [{ word: ':files' }]
const authVerbs = ['login', 'token', 'status', 'logout']
const topics = ['auth', 'completion', 'help']

export async function complete(words: string[], env: NodeJS.ProcessEnv): Promise<Candidate[]> {
  const current = words.at(-1) ?? ''
  const candidates = await candidatesFor(words, env)
  return candidates === files ? files : candidates.filter(({ word }) => word.startsWith(current))
}

async function candidatesFor(words: string[], env: NodeJS.ProcessEnv): Promise<Candidate[]> {
  const [first = '', second = ''] = words
  if (words.length <= 1) return plain([...resources.map(({ name }) => name), ...topics])
  if (first === 'help') return helpWords(words)
  if (first === 'completion') return plain(Object.keys(scripts))
  if (first === 'auth')
    return words.length === 2 ? plain(authVerbs) : plain(['--api', '--context', '--issuer', '--audience'])
  if (words.length === 2) return plain(verbsOf(first))
  if (first === 'groups' && second === 'tree') return ofTree(words, env)
  const command = findCommand(first, second)
  return command ? ofCommand(command, words.slice(2), env) : []
}

const plain = (words: readonly string[]): Candidate[] => words.map((word) => ({ word }))

const verbsOf = (resource: string): string[] => [
  ...(findResource(resource)?.commands.map(({ verb }) => verb) ?? []),
  ...(resource === 'groups' ? ['tree'] : []),
]

const helpWords = (words: string[]): Candidate[] =>
  words.length === 2
    ? plain([...resources.map(({ name }) => name), 'auth', 'exit-codes'])
    : plain(verbsOf(words[1] ?? ''))

function ofTree(words: string[], env: NodeJS.ProcessEnv): Promise<Candidate[]> | Candidate[] {
  const current = words.at(-1) ?? ''
  return current.startsWith('-')
    ? plain(['--depth', '--output', ...Object.keys(globalOptions).map((name) => `--${name}`)])
    : suggestNames('groups', current, wishesIn(words), env)
}

async function ofCommand(command: Command, words: string[], env: NodeJS.ProcessEnv): Promise<Candidate[]> {
  const current = words.at(-1) ?? ''
  const before = words.at(-2) ?? ''
  const [, flag, value] = /^(--[^=]+)=(.*)$/.exec(current) ?? []
  if (flag !== undefined && value !== undefined) {
    const found = await valuesOf(command, flag, value, words, env)
    return found === files ? files : found.map(({ word, ...rest }) => ({ word: `${flag}=${word}`, ...rest }))
  }
  if (takesValue(command, before)) return valuesOf(command, before, current, words, env)
  if (current.startsWith('-')) return flagNames(command)
  return command.target.length > 0
    ? suggestNames(meant(command), current, wishesIn(words), env)
    : flagNames(command)
}

function flagNames(command: Command): Candidate[] {
  const own = flagsOf(command).map((flag) => ({
    word: `--${flag.name}`,
    about: firstWords(aboutOf(flag.field)),
  }))
  const others = Object.keys({ ...ownOptions(command), ...globalOptions })
  return [...own, ...plain(others.map((name) => `--${name}`))]
}

const firstWords = (text: string) => text.split(/[.;:]/)[0] ?? ''

const flagOf = (command: Command, word: string): Flag | undefined =>
  flagsOf(command).find(({ name, alias }) => word === `--${name}` || word === `--${alias}`)

const withValues = ['--output', '-o', '--file', '-f', '--api', '--issuer', '--audience', '--context']

function takesValue(command: Command, word: string): boolean {
  const flag = flagOf(command, word)
  return flag ? !isSwitch(flag) : withValues.includes(word)
}

async function valuesOf(
  command: Command,
  word: string,
  current: string,
  words: string[],
  env: NodeJS.ProcessEnv,
): Promise<Candidate[]> {
  if (word === '--output' || word === '-o') return plain(formats)
  if (word === '--file' || word === '-f') return files
  const flag = flagOf(command, word)
  if (!flag) return []
  if (flag.refersTo !== undefined) return suggestNames(flag.refersTo, current, wishesIn(words), env)
  if (flag.field.enum) return plain(enumNames(flag.field.enum))
  return flag.name === 'order-by' ? plain(orders(flag)) : []
}

/** The comment of `order_by` lists the sortable fields in backticks. */
const orders = ({ field }: Flag): string[] => {
  const words = new Set(Array.from(aboutOf(field).matchAll(/`([a-z_]+)`/g), ([, word = '']) => word))
  words.delete('desc')
  return [...words].flatMap((name) => [name, `${name} desc`])
}

/** The server that the rest of the line means. */
function wishesIn(words: string[]): JsonObject {
  const names = ['api', 'issuer', 'audience', 'context']
  return Object.fromEntries(
    names.flatMap((name) => {
      const at = words.indexOf(`--${name}`)
      return at >= 0 && words[at + 1] !== undefined ? [[name, words[at + 1] ?? '']] : []
    }),
  )
}
