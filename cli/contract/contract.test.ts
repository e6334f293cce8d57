// Checks for every method of the contract that it has a usable command.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { DescMessage, DescService } from '@bufbuild/protobuf'
import { isOutputOnly } from '@stemma/api/method.ts'
import { commentOf } from '@stemma/api/reference/comments.ts'
import { commonOptions, optionsOfCommandKind, parseCommandLine } from '../command-line.ts'
import { composedCommands, findComposed } from '../composed/commands.ts'
import type { ComposedCommand } from '../composed/composed-command.ts'
import { parseComposedLine } from '../composed/run-composed.ts'
import { examplesOf } from '../help/examples.ts'
import { helpOf } from '../help/help.ts'
import { namedResourceFor } from '../names/naming.ts'
import { columnsOf } from '../output/columns.ts'
import { commandOf, findResource, printedMessageOf, resources, rowsField } from './commands.ts'
import { parseFlagValue } from './flag-values.ts'
import { flagsOf } from './request-flags.ts'
import { targetResource } from './target.ts'
import { isUid } from './uid-fields.ts'

const generatedFolder = join(import.meta.dirname, '../../api/gen/platform')
const files = readdirSync(generatedFolder, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /v2beta1.*_pb\.ts$/.test(file),
)
const modules = await Promise.all(
  files.map((file) => import(join(generatedFolder, file)) as Promise<Record<string, unknown>>),
)
const isService = (value: unknown): value is DescService =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service'
const services = modules.flatMap(Object.values).filter(isService)
const commands = resources.flatMap((resource) => resource.commands)

describe('every method of v2beta1', () => {
  test('is found in the generated files', () => assert.ok(services.length >= 13))
  for (const method of services.flatMap((service) => service.methods))
    test(`${method.parent.name}.${method.name} has a command`, () =>
      assert.equal(commands.filter((command) => command.method.desc === method).length, 1))
})

describe('every command', () => {
  test('has a unique name of lowercase words', () => {
    const names = commands.map(({ resource, verb }) => `${resource} ${verb}`)
    assert.equal(new Set(names).size, names.length)
    for (const name of names) assert.match(name, /^[a-z]+(?:-[a-z]+)* [a-z]+(?:-[a-z]+)*$/)
  })

  test('has the verb of its method', () => {
    for (const resource of ['groups', 'identities', 'roles', 'role-bindings', 'repos', 'tags'])
      for (const verb of ['list', 'get', 'create', 'update', 'delete']) commandOf(resource, verb)
    for (const [resource, verb] of [
      ['repos', 'readme'],
      ['repos', 'update-readme'],
      ['advisories', 'osv'],
      ['advisories', 'openvex'],
      ['advisories', 'export-osv'],
      ['advisories', 'export-openvex'],
      ['group-access-requests', 'approve'],
      ['groups', 'request-access'],
      ['account-associations', 'check'],
    ] as const)
      commandOf(resource, verb)
  })

  for (const command of commands) {
    const name = `${command.resource} ${command.verb}`
    const flags = flagsOf(command)

    test(`${name} has unique flags`, () => {
      const names = flags.flatMap((flag) => [flag.name, ...(flag.alias === undefined ? [] : [flag.alias])])
      assert.equal(new Set(names).size, names.length)
      const sharedNames = names.filter(
        (flag) => flag in commonOptions || flag in optionsOfCommandKind(command),
      )
      // The field `issuer` of this command takes precedence over the common flag `--issuer`.
      assert.deepEqual(sharedNames, name === 'identities lookup' ? ['issuer'] : [])
    })

    test(`${name} has a resource for each uid flag`, () => {
      for (const { field, refersTo } of flags)
        if (isUid(field)) assert.ok(findResource(refersTo ?? ''), `${field.name} has no resource`)
    })

    test(`${name} has an argument that can be resolved, if it has one`, () => {
      const field = command.target.at(-1)
      if (!field) return
      const resource = targetResource(command)
      // An id is sent as it is.
      if (resource === undefined) assert.equal(field.name, 'id')
      else commandOf(namedResourceFor(resource), 'list')
    })

    test(`${name} has help`, () => {
      assert.ok(commentOf(command.method.desc), 'its method has no comment')
      for (const { field, name: flag } of flags) assert.ok(commentOf(field), `--${flag} has no comment`)
      assert.match(helpOf([command.resource, command.verb]), /Usage: stemma /)
    })
  }
})

describe('every command that is written by hand', () => {
  for (const command of composedCommands) {
    const { resource, verb, flags, replaces } = command
    test(`${resource} ${verb} has help, and no flag has the name of a common flag`, () => {
      assert.match(helpOf([resource, verb]), new RegExp(`Usage: stemma ${resource} ${verb}`.trimEnd()))
      for (const { name } of flags) assert.ok(!(name in commonOptions), name)
      if (replaces !== undefined) commandOf(resource, replaces)
    })

    test(`${resource} ${verb} is listed in the help of ${resource}`, () => {
      const help = verb === '' ? 'Usage: stemma ' : `\n  ${verb} `
      assert.ok(helpOf([resource]).includes(help), helpOf([resource]))
    })
  }
})

describe('every table', () => {
  for (const command of commands) {
    const { resource, verb } = command
    if (rowsField(command) !== '' && !findComposed(resource, verb))
      test(`${resource} ${verb} has columns of existing fields`, () => {
        const message = printedMessageOf(command)
        for (const { paths } of columnsOf(message, true))
          for (const path of paths) assert.ok(hasPath(message, path.split('.')), path)
      })
  }
})

function hasPath(message: DescMessage, [first, ...rest]: string[]): boolean {
  const field = message.fields.find(({ jsonName }) => jsonName === first)
  return (
    field !== undefined &&
    (rest.length === 0 || (field.message !== undefined && hasPath(field.message, rest)))
  )
}

describe('every example', () => {
  for (const command of composedCommands)
    for (const line of command.examples)
      test(line.split('\n')[0] ?? '', () => {
        const [, ...words] = wordsOf(line)
        const name = [command.resource, command.verb].filter(Boolean)
        assert.deepEqual(words.slice(0, name.length), name)
        checkComposedLine(command, words.slice(name.length))
      })

  for (const command of commands)
    for (const line of examplesOf(command))
      test(line.split('\n')[0] ?? '', () => {
        const [, ...words] = wordsOf(line)
        assert.deepEqual(words.slice(0, 2), [command.resource, command.verb])
        const composed = findComposed(command.resource, command.verb)
        if (composed) return checkComposedLine(composed, words.slice(2))
        const { positionals, fields } = parseCommandLine(command, words.slice(2))
        for (const { flag, texts } of fields) {
          parseFlagValue(flag.field, texts, Date.now())
          // Only enum values can be separated by commas.
          if (flag.field.fieldKind === 'list' && !flag.field.enum) assertNoCommas(texts)
        }
        if (command.target.length === 0) assert.deepEqual(positionals, [])
        else assert.ok(positionals.length > 0 || words.includes('-f'))
      })
})

function checkComposedLine(command: ComposedCommand, args: string[]): void {
  for (const texts of Object.values(parseComposedLine(command, args).repeated)) assertNoCommas(texts ?? [])
}

/** A flag is repeated for each element of a list, so `--cves A,B` would be a single value. */
function assertNoCommas(texts: readonly string[]): void {
  for (const text of texts) assert.doesNotMatch(text, /,/)
}

/**
 * Splits the `stemma` command of an example into words, as a shell does. Earlier commands of a pipe, redirections and
 * comments are left out.
 */
function wordsOf(line: string): string[] {
  const commandLine = line
    .replaceAll('\\\n', ' ')
    .replace(/^.*\| /, '')
    .replace(/ (?:#|>).*$/, '')
  const words = commandLine.matchAll(/"([^"]*)"|'([^']*)'|\S+/g)
  return Array.from(words, ([word, doubleQuoted, singleQuoted]) => doubleQuoted ?? singleQuoted ?? word)
}

test('output-only fields have no flag', () => {
  for (const command of commands) for (const { path } of flagsOf(command)) assert.ok(!path.some(isOutputOnly))
})
