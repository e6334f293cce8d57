// Finds the words that can complete the last word of a command line.

import { commentOf } from '@stemma/api/reference/comments.ts'
import { loginFlags } from '../auth/login-flags.ts'
import { commonOptions, isToggle, optionsOfCommandKind } from '../command-line.ts'
import { composedCommands, findComposed, verbsOf } from '../composed/commands.ts'
import type { Completion, ComposedCommand } from '../composed/composed-command.ts'
import type { ContextFlags } from '../context.ts'
import type { Command } from '../contract/commands.ts'
import { findCommand, resources, targetResource } from '../contract/commands.ts'
import { enumNames } from '../contract/enum-names.ts'
import type { Flag } from '../contract/request-flags.ts'
import { flagsOf } from '../contract/request-flags.ts'
import { formats } from '../output/format.ts'
import type { Runtime } from '../runtime.ts'
import type { Candidate } from './candidate.ts'
import { scripts } from './scripts.ts'
import { suggestNames } from './suggest-names.ts'

/** A marker that makes the completion script of the shell complete file names itself. */
const fileNames: Candidate[] = [{ word: ':files' }]
const topCommands = composedCommands.flatMap(({ resource, verb }) => (verb === '' ? [resource] : []))
const contextFlags = ['--api', '--context', '--issuer', '--audience']
const authCommands = ['login', 'token', 'status', 'logout']
const registryCommands = ['configure-docker', 'login', 'logout']
const configureFlags = ['--dry-run', '--name', '--parent', '--pull-token', '--repo', '--save', '--ttl']
const otherCommands = ['auth', 'completion', 'help', 'registry', ...topCommands]

export async function complete(words: string[], runtime: Runtime): Promise<Candidate[]> {
  const current = words.at(-1) ?? ''
  const candidates = await candidatesFor(words, runtime)
  if (candidates === fileNames) return fileNames
  return candidates.filter(({ word }) => word.startsWith(current))
}

async function candidatesFor(words: string[], runtime: Runtime): Promise<Candidate[]> {
  const [first = '', second = ''] = words
  if (words.length <= 1) return plain([...resourceNames(), ...otherCommands])
  if (first === 'help') return helpTopics(words)
  if (first === 'completion') return plain(Object.keys(scripts))
  if (first === 'auth') return authCandidates(words)
  if (first === 'registry') return registryCandidates(words)
  const composed = findComposed(first, second)
  if (composed && words.length > (composed.verb === '' ? 1 : 2))
    return composedCandidates(composed, words.slice(composed.verb === '' ? 1 : 2), runtime)
  if (words.length === 2) return plain(verbsOf(first))
  const command = findCommand(first, second)
  return command ? commandCandidates(command, words.slice(2), runtime) : []
}

const plain = (words: readonly string[]): Candidate[] => words.map((word) => ({ word }))

const resourceNames = () => resources.map(({ name }) => name)

const helpTopics = (words: string[]): Candidate[] =>
  words.length === 2
    ? plain([...resourceNames(), ...topCommands, 'auth', 'registry', 'exit-codes'])
    : plain(verbsOf(words[1] ?? ''))

function authCandidates(words: string[]): Candidate[] {
  if (words.length === 2) return plain(authCommands)
  if (words.at(-2) === '--identity-token') return fileNames
  const own = words[1] === 'login' ? Object.keys(loginFlags) : []
  return plain([...contextFlags, ...own.map((name) => `--${name}`)])
}

function registryCandidates(words: string[]): Candidate[] {
  if (words.length === 2) return plain(registryCommands)
  if (words.at(-2) === '--authfile') return fileNames
  const flags = ['--api', '--authfile', '--context', '--issuer']
  return plain(words[1] === 'configure-docker' ? [...flags, ...configureFlags] : flags)
}

async function composedCandidates(
  command: ComposedCommand,
  words: string[],
  runtime: Runtime,
): Promise<Candidate[]> {
  const [current = '', previous = ''] = words.toReversed()
  const candidates = (completion: Completion | undefined) => {
    if (!completion) return []
    return 'names' in completion
      ? suggestNames(completion.names, current, serverFlags(words), runtime)
      : plain(completion.words())
  }
  if (previous === '--output' || previous === '-o') return plain(formats)
  const flag = command.flags.find(({ name }) => previous === `--${name}`)
  if (flag?.placeholder !== undefined) return candidates(flag.completion)
  const argument = command.args[argumentCount(command, words.slice(0, -1))]
  if (current.startsWith('-') || !argument?.completion)
    return [
      ...command.flags.map(({ name, description }) => ({
        word: `--${name}`,
        description: firstClause(description),
      })),
      ...plain(Object.keys(commonOptions).map((name) => `--${name}`)),
    ]
  return candidates(argument.completion)
}

/** The number of words that are neither flags nor their values. */
function argumentCount(command: ComposedCommand, words: string[]): number {
  const isToggleFlag = (word: string) =>
    ['--debug', '--help', '-h'].includes(word) ||
    command.flags.some(({ name, placeholder }) => word === `--${name}` && placeholder === undefined)
  return words.filter((word, index) => {
    const before = words[index - 1] ?? ''
    const isValue = before.startsWith('-') && !before.includes('=') && !isToggleFlag(before)
    return !word.startsWith('-') && !isValue
  }).length
}

async function commandCandidates(command: Command, words: string[], runtime: Runtime): Promise<Candidate[]> {
  const current = words.at(-1) ?? ''
  const previous = words.at(-2) ?? ''
  const suggest = (resource: string, text: string) =>
    suggestNames(resource, text, serverFlags(words), runtime)
  const [, flag, value] = /^(--[^=]+)=(.*)$/.exec(current) ?? []
  if (flag !== undefined && value !== undefined) {
    const values = await flagValues(command, flag, value, suggest)
    if (values === fileNames) return fileNames
    return values.map(({ word, ...rest }) => ({ word: `${flag}=${word}`, ...rest }))
  }
  if (requiresValue(command, previous)) return flagValues(command, previous, current, suggest)
  if (current.startsWith('-') || command.target.length === 0) return flagNames(command)
  return suggest(targetResource(command), current)
}

function flagNames(command: Command): Candidate[] {
  const fields = flagsOf(command).map(({ name, field }) => ({
    word: `--${name}`,
    description: firstClause(commentOf(field)),
  }))
  const others = Object.keys({ ...optionsOfCommandKind(command), ...commonOptions })
  return [...fields, ...plain(others.map((name) => `--${name}`))]
}

const firstClause = (text: string) => text.split(/[.;:]/)[0] ?? ''

const findFlag = (command: Command, word: string): Flag | undefined =>
  flagsOf(command).find(({ name, alias }) => word === `--${name}` || word === `--${alias}`)

const flagsWithValue = ['--output', '-o', '--file', '-f', '--api', '--issuer', '--audience', '--context']

function requiresValue(command: Command, word: string): boolean {
  const flag = findFlag(command, word)
  return flag ? !isToggle(flag) : flagsWithValue.includes(word)
}

async function flagValues(
  command: Command,
  word: string,
  current: string,
  suggest: (resource: string, text: string) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  if (word === '--output' || word === '-o') return plain(formats)
  if (word === '--file' || word === '-f') return fileNames
  const flag = findFlag(command, word)
  if (!flag) return []
  if (flag.refersTo !== undefined) return suggest(flag.refersTo, current)
  if (flag.field.enum) return plain(enumNames(flag.field.enum))
  return flag.name === 'order-by' ? plain(orders(flag)) : []
}

/** The comment of `order_by` lists the sortable fields in backticks. */
function orders({ field }: Flag): string[] {
  const words = new Set(Array.from(commentOf(field).matchAll(/`([a-z_]+)`/g), ([, word = '']) => word))
  words.delete('desc')
  return [...words].flatMap((name) => [name, `${name} desc`])
}

/** The flags that select the server from which names are suggested. */
function serverFlags(words: string[]): ContextFlags {
  const flagValue = (name: string) => {
    const index = words.findLastIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`))
    const [word, next] = index < 0 ? [] : words.slice(index)
    return word?.includes('=') ? word.slice(word.indexOf('=') + 1) : next
  }
  return {
    api: flagValue('api'),
    issuer: flagValue('issuer'),
    audience: flagValue('audience'),
    context: flagValue('context'),
  }
}
