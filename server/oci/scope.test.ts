import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readScopes, scopeText } from './scope.ts'

test('a scope has a name and actions, and several scopes may be in one parameter', () => {
  assert.deepEqual(
    readScopes(['repository:acme/web:pull,push repository:acme/base:pull', 'repository:x:*']),
    [
      { name: 'acme/web', actions: ['pull', 'push'] },
      { name: 'acme/base', actions: ['pull'] },
      { name: 'x', actions: ['pull', 'push', 'delete'] },
    ],
  )
})

test('scopes that the registry does not know are left out', () => {
  const unknown = [
    'registry:catalog:*',
    'repository:acme',
    'repository:Acme:pull',
    'repository:acme:fly',
    '',
    ':::',
    'repository::pull',
    'repository:acme/*:pull',
    'repository:*:*',
    'repository:acme/%77eb:pull',
    'repository:acme/../web:pull',
    'repository:acme\u2215web:pull',
    'repository:\u0430cme:pull',
    'repository:acme:PULL',
    'Repository:acme:pull',
    'repository(plugin):acme:pull',
    'repository:localhost:5000/acme:pull',
    'repository:acme:pull:',
    'repository:acme":pull',
    'repository:acme\npull:pull',
    'repository:acme:pull\t,push\r',
  ]
  assert.deepEqual(readScopes([...unknown, 'repository:acme:fly,pull']), [
    { name: 'acme', actions: ['pull'] },
  ])
})

test('at most 20 scopes are read', () => {
  assert.equal(readScopes(['repository:a:pull '.repeat(100)]).length, 20)
  assert.equal(readScopes(Array(100).fill('repository:a:pull')).length, 20)
})

test('a scope is the same after it is written and read again', () => {
  const scopes = readScopes(['repository:acme/web:pull,delete'])
  assert.deepEqual(readScopes(scopes.map(scopeText)), scopes)
})
