// `stemma --help`, and the help of each resource and command.
import { commentOf, splitSummary } from '@stemma/api/reference/comments.ts'
import { authHelp } from '../auth/help.ts'
import { composedOf, contractCommandsOf, findComposed } from '../composed/commands.ts'
import type { ComposedCommand } from '../composed/composed-command.ts'
import { usageOf as composedUsageOf, rowsOf } from '../composed/composed-command.ts'
import type { Command, Resource } from '../contract/commands.ts'
import { findCommand, findResource, resources } from '../contract/commands.ts'
import { argumentName } from '../contract/target.ts'
import { exitCodesHelp } from '../exit-codes.ts'
import { UsageError } from '../failure.ts'
import manifest from '../package.json' with { type: 'json' }
import { registryHelp } from '../registry/help.ts'
import { completionHelp } from './completion-help.ts'
import { examplesOf } from './examples.ts'
import { commonFlagRows, flagRows } from './flag-rows.ts'
import type { Row } from './layout.ts'
import { formatRows, helpWidth, wrap } from './layout.ts'

/** The help of topics that are neither resources nor composed commands. */
export const helpTopics: ReadonlyMap<string, string> = new Map([
  ['exit-codes', exitCodesHelp],
  ['auth', authHelp],
  ['registry', registryHelp],
  ['completion', completionHelp],
])

/** The main help, or the help of a topic: a resource, a resource and a verb, or another word such as `exit-codes`. */
export function helpOf([first, second]: string[]): string {
  if (first === undefined) return mainHelp()
  const topic = helpTopics.get(first)
  if (topic !== undefined) return topic
  const composed = findComposed(first, second ?? '')
  if (composed) return composedHelp(composed)
  const resource = findResource(first)
  if (!resource) throw new UsageError(`stemma has no command ${JSON.stringify(first)}; see stemma --help`)
  const command = findCommand(first, second ?? '') ?? findCommand(first, first)
  return command ? commandHelp(command) : resourceHelp(resource)
}

const otherCommands: Row[] = [
  ['auth', 'Sign in and out, and print access tokens.'],
  ['registry', 'Let docker and other clients push to and pull from the registry.'],
  ['whoami', 'Print who you are, how you signed in, and your roles.'],
  ['completion', 'Completion for bash, zsh and fish.'],
  ['help', 'Help for a topic, such as help exit-codes or help groups create.'],
]

function mainHelp(): string {
  const resourceRows = resources.map(({ name, service }): Row => [name, firstSentence(commentOf(service))])
  return `stemma ${manifest.version}, the command line client of Stemma

Usage: stemma RESOURCE VERB [NAME|UID] [flags]

Resources:
${formatRows(resourceRows)}

Other commands:
${formatRows(otherCommands)}

Examples: sign in, show the groups, create a group, and grant a CI job access to it:

  stemma auth login --api https://stemma.example.com
  stemma groups tree
  stemma groups create --parent acme --name platform
  stemma identities create --parent acme/platform --name ci \\
    --claim-match.issuer https://token.actions.githubusercontent.com \\
    --claim-match.subject repo:acme/app:ref:refs/heads/main
  stemma role-bindings create --parent acme/platform --identity ci --role viewer

Resources are named by uid or path: acme/platform is a group, acme/platform/ci an identity in that group, and
acme/static:latest a tag. The value @FILE of a flag is read from a file, @- from standard input.

Flags of all commands:
${formatRows(commonFlagRows)}

STEMMA_TOKEN is an access token that is used instead of a sign-in.
More help: stemma RESOURCE --help, stemma RESOURCE VERB --help, stemma help exit-codes.`
}

function resourceHelp({ name, service }: Resource): string {
  const commands = contractCommandsOf(name)
  const composed = composedOf(name)
  const verbs = [
    ...commands.map((command): Row => [usageOf(command), firstSentence(commentOf(command.method.desc))]),
    ...composed.map((command): Row => [composedUsageOf(command), command.description]),
  ]
  const examples = [...commands.map(examplesOf), ...composed.map((command) => command.examples)]
  const firstExamples = examples.flatMap((lines) => lines.slice(0, 1))
  return sections(
    wrap(commentOf(service), 0, helpWidth()),
    `Usage: stemma ${name} VERB [flags]`,
    formatRows(verbs),
    exampleSection(firstExamples),
    `See stemma ${name} VERB --help for the flags of each verb.`,
  )
}

function commandHelp(command: Command): string {
  const { desc } = command.method
  const usage = `${command.resource} ${usageOf(command)}`.trimEnd()
  return page(usage, commentOf(desc), examplesOf(command), flagRows(command))
}

function composedHelp(command: ComposedCommand): string {
  const usage = `${command.resource} ${composedUsageOf(command)}`.trimEnd()
  return page(usage, command.description, command.examples, rowsOf(command), command.notes)
}

const page = (usage: string, description: string, examples: string[], flags: Row[], notes = ''): string =>
  sections(
    wrap(description, 0, helpWidth()),
    `Usage: stemma ${usage} [flags]`,
    wrap(notes, 0, helpWidth()),
    exampleSection(examples),
    flags.length > 0 ? `Flags:\n${formatRows(flags)}` : '',
    `Flags of all commands:\n${formatRows(commonFlagRows)}`,
  )

const sections = (...texts: string[]): string => texts.filter((text) => text !== '').join('\n\n')

const exampleSection = (lines: string[]): string =>
  lines.length === 0 ? '' : `Examples:\n${lines.map((line) => `  ${line}`).join('\n')}`

/** A verb and its argument, such as `get GROUP…`. Empty if the verb is the name of the resource, as for ping. */
function usageOf(command: Command): string {
  const { verb, target, kind, resource } = command
  if (verb === resource) return ''
  if (target.length === 0) return verb
  return `${verb} ${argumentName(command)}${kind === 'delete' || verb === 'get' ? '…' : ''}`
}

const firstSentence = (text: string): string => splitSummary(text).summary
