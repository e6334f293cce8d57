// What `stemma --help` says, of all of it and of each command.
import { aboutOf, splitSummary } from '@stemma/api/reference/about.ts'
import { ownOptions } from '../arguments.ts'
import { authHelp } from '../auth/help.ts'
import type { Command, Resource } from '../contract/commands.ts'
import { findCommand, findResource, resources } from '../contract/commands.ts'
import { singular } from '../contract/spelling.ts'
import { exitCodesHelp } from '../exit-codes.ts'
import manifest from '../package.json' with { type: 'json' }
import { UsageError } from '../usage.ts'
import { examplesOf, treeExamples } from './examples.ts'
import { fieldRows } from './flags.ts'
import { helpWidth, rows, wrap } from './layout.ts'

const everywhere: [string, string][] = [
  ['-o, --output FORM', 'table, wide, json, yaml or uid'],
  ['--api URL', 'the server (STEMMA_API, or the current context; http://localhost:8080)'],
  ['--context NAME', 'a server that was named at sign-in (STEMMA_CONTEXT)'],
  ['--issuer URL, --audience AUD', 'its token issuer, and whom tokens are for; the same as --api'],
  ['--debug', 'tell each call, and all that the server says of an error'],
]

const own: Record<string, [string, string]> = {
  all: ['--all', 'all pages, each printed as it comes'],
  yes: ['-y, --yes', 'do not ask'],
  file: ['-f, --file FILE|-', 'the fields as JSON or YAML, from a file or a pipe; flags win over it'],
}

const others: [string, string][] = [
  ['auth', 'sign in and out; print a token'],
  ['completion', 'completion for bash, zsh and fish'],
  ['help', 'help exit-codes, help groups create, …'],
]

export function mainHelp(): string {
  const what = resources.map(({ name, service }): [string, string] => [name, firstSentence(aboutOf(service))])
  return `stemma ${manifest.version}: the client of a Stemma server

Usage: stemma RESOURCE VERB [NAME|UID] [flags]

${rows([...what, ...others])}

Sign in, look around, and let a job in:

  stemma auth login --api https://stemma.example.com
  stemma groups tree
  stemma groups create --parent acme --name platform
  stemma identities create --parent acme/platform --name ci \\
    --claim-match.issuer https://token.actions.githubusercontent.com --claim-match.subject repo:acme/app
  stemma role-bindings create --parent acme/platform --identity ci --role viewer

A resource is named by its uid or its path: acme/platform is a group, acme/platform/ci an identity in it, and
acme/static:latest a tag. A value @FILE is read from a file, @- from a pipe. Flags for all commands:

${rows(everywhere)}

STEMMA_TOKEN is an access token to use in place of a sign-in. More: stemma RESOURCE --help, stemma RESOURCE VERB --help,
stemma help exit-codes.`
}

/** Tree is made of lists, and no method of the contract. */
const tree = {
  name: 'tree [NAME|UID]',
  text: 'Draws the groups you may see, or those below one, as a tree.',
  flags: [['--depth NUMBER', 'how many levels below the top']] as [string, string][],
}

function resourceHelp({ name, service, commands }: Resource): string {
  const verbs = commands.map((command): [string, string] => [
    usage(command),
    firstSentence(aboutOf(command.method.desc)),
  ])
  if (name === 'groups') verbs.push([tree.name, tree.text])
  const all = [...commands.map(examplesOf), ...(name === 'groups' ? [treeExamples] : [])]
  const shown = all.flatMap((lines) => lines.slice(0, 1))
  return `${wrap(aboutOf(service), 0, helpWidth())}

Usage: stemma ${name} VERB [flags]

${rows(verbs)}
${shown.length > 0 ? `\n${shown.map((line) => `  ${line}`).join('\n')}\n` : ''}
See stemma ${name} VERB --help for the flags of each.`
}

function commandHelp(command: Command): string {
  const { resource } = command
  const mine = Object.keys(ownOptions(command)).flatMap((name) => (own[name] ? [own[name]] : []))
  return page(`${resource} ${usage(command)}`.trimEnd(), aboutOf(command.method.desc), examplesOf(command), [
    ...fieldRows(command),
    ...mine,
  ])
}

function page(line: string, about: string, shown: string[] = [], flags: [string, string][] = []): string {
  return [
    wrap(about, 0, helpWidth()),
    `Usage: stemma ${line} [flags]`,
    shown.map((example) => `  ${example}`).join('\n'),
    flags.length > 0 ? `Flags:\n${rows(flags)}` : '',
    `For all commands:\n${rows(everywhere)}`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

function usage({ verb, target, kind, resource }: Command): string {
  if (verb === resource) return ''
  if (target.length === 0) return verb
  const one = `${singular(resource).toUpperCase()}`
  return `${verb} ${one}${kind === 'delete' || verb === 'get' ? '…' : ''}`
}

const firstSentence = (text: string): string => splitSummary(text).summary

/** Help of whatever the words name. */
export function helpOf([first, second]: string[]): string {
  if (first === undefined) return mainHelp()
  if (first === 'exit-codes') return exitCodesHelp
  if (first === 'auth') return authHelp
  if (first === 'completion') return completionHelp
  const resource = findResource(first)
  if (!resource) throw new UsageError(`stemma has no command ${JSON.stringify(first)}; see stemma --help`)
  if (first === 'groups' && second === 'tree')
    return page(`groups ${tree.name}`, tree.text, treeExamples, tree.flags)
  const verb = resource.commands.length === 1 ? resource.commands[0]?.verb : second
  const command = verb === undefined ? undefined : findCommand(first, verb)
  return command ? commandHelp(command) : resourceHelp(resource)
}

export const completionHelp = `Usage: stemma completion bash|zsh|fish

Prints what your shell needs to complete commands, flags, values, and names that it asks the server for.

  bash   source <(stemma completion bash)                      # in ~/.bashrc
  zsh    source <(stemma completion zsh)                       # in ~/.zshrc, after compinit
  fish   stemma completion fish > ~/.config/fish/completions/stemma.fish`
