// Finds the words that can complete the last word of a command line.

import { commentOf } from '@stemma/api/reference/comments.ts'
import { loginFlags } from '../auth/login-flags.ts'
import { commonOptions, isToggle, optionsOfCommandKind } from '../command-line.ts'
import { composedCommands, findComposed, verbsOf } from '../composed/commands.ts'
import type { Completion, ComposedCommand } from '../composed/composed-command.ts'
import type { ContextFlags } from '../context.ts'
import type { Command } from '../contract/commands.ts'
import { findCommand, resources } from '../contract/commands.ts'
import { enumNames } from '../contract/enum-names.ts'
import type { Flag } from '../contract/request-flags.ts'
import { flagsOf } from '../contract/request-flags.ts'
import { targetResource } from '../contract/target.ts'
import { helpTopics } from '../help/help.ts'
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
  if (first === 'help') return helpCandidates(words)
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

const helpCandidates = (words: string[]): Candidate[] =>
  words.length === 2
    ? plain([...resourceNames(), ...topCommands, ...helpTopics.keys()])
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
  const current = words.at(-1) ?? ''
  const candidates = async (completion: Completion | undefined, text: string) => {
    if (!completion) return []
    return 'names' in completion
      ? suggestNames(completion.names, text, serverFlags(words), runtime)
      : plain(completion.words())
  }
  const valuesOf = (word: string, text: string) => {
    const flag = command.flags.find(({ name }) => word === `--${name}`)
    if (flag?.placeholder !== undefined) return candidates(flag.completion, text)
    return flag ? undefined : commonFlagValues(word)
  }
  const values = await flagValues(words, valuesOf)
  if (values) return values
  const argument = command.args[argumentCount(command, words.slice(0, -1))]
  if (!current.startsWith('-') && argument?.completion) return candidates(argument.completion, current)
  return [
    ...command.flags.map(({ name, description }) => ({
      word: `--${name}`,
      description: firstClause(description),
    })),
    ...plain(Object.keys(commonOptions).map((name) => `--${name}`)),
  ]
}

/** Returns the candidates for the value of a flag; undefined if the flag has no value. */
type ValuesOf = (flag: string, text: string) => Candidate[] | Promise<Candidate[]> | undefined

/** The candidates if the last word is the value of a flag, as in `--flag value` and `--flag=value`. */
async function flagValues(words: string[], valuesOf: ValuesOf): Promise<Candidate[] | undefined> {
  const [current = '', previous = ''] = words.toReversed()
  const [, flag, value] = /^(--[^=]+)=(.*)$/.exec(current) ?? []
  if (flag === undefined || value === undefined) return valuesOf(previous, current)
  const values = (await valuesOf(flag, value)) ?? []
  return values === fileNames ? fileNames : values.map((each) => ({ ...each, word: `${flag}=${each.word}` }))
}

/** Undefined unless the word is a flag that every command has and that takes a value. */
function commonFlagValues(word: string): Candidate[] | undefined {
  if (word === '--output' || word === '-o') return plain(formats)
  return contextFlags.includes(word) ? [] : undefined
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
  const suggest = (resource: string, text: string) =>
    suggestNames(resource, text, serverFlags(words), runtime)
  const values = await flagValues(words, (word, text) => {
    const flag = findFlag(command, word)
    if (flag) return isToggle(flag) ? undefined : fieldValues(flag, text, suggest)
    return word === '--file' || word === '-f' ? fileNames : commonFlagValues(word)
  })
  if (values) return values
  if (current.startsWith('-') || command.target.length === 0) return flagNames(command)
  const resource = targetResource(command)
  return resource === undefined ? [] : suggest(resource, current)
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

function fieldValues(
  flag: Flag,
  text: string,
  suggest: (resource: string, text: string) => Promise<Candidate[]>,
): Candidate[] | Promise<Candidate[]> {
  if (flag.refersTo !== undefined) return suggest(flag.refersTo, text)
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
