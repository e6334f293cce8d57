import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandOf, enumWord, pathOf } from './commands.ts'

const filters = {
  ...{ orderBy: 'name', nameContains: "it's; ls", isOperator: true },
  ...{ state: '', disabled: false, query: undefined },
}

test('a command has a flag for each filter, with the value quoted for the shell', () => {
  assert.equal(
    commandOf('stemma people list', filters),
    `stemma people list --order-by name --name-contains 'it'\\''s; ls' --is-operator`,
  )
  assert.equal(commandOf('stemma people list', {}), 'stemma people list')
})

test('a value that begins with a dash is not a flag', () => {
  assert.equal(
    commandOf('stemma groups list', { name: '-x', nameContains: '--it works' }),
    `stemma groups list --name=-x --name-contains='--it works'`,
  )
})

test('a path has a query parameter for each filter', () => {
  assert.equal(
    pathOf('/people', { 'uidp.descendantsOf': 'a/b', ...filters }),
    '/people?uidp.descendants_of=a%2Fb&order_by=name&name_contains=it%27s%3B+ls&is_operator=true',
  )
  assert.equal(pathOf('/people', {}), '/people')
})

test('a value of an enum is written as the command line accepts it', () => {
  assert.equal(enumWord('TYPE_', 'TYPE_FIX_NOT_PLANNED'), 'fix-not-planned')
  assert.equal(enumWord('TYPE_', undefined), undefined)
})
