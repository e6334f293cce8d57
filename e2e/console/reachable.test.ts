// Every method of v2beta1 is called by a page of the console, or listed with a reason.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { services } from '@stemma/api/gen/services-v2beta1.ts'
import { unreachable } from '@stemma/console/unreachable.ts'

const sources = join(import.meta.dirname, '../../console')

/** The name of a service in console/api/api.ts. */
const clientOf = (service: string) =>
  service.slice(0, 1).toLowerCase() + service.slice(1).replace(/Service$/, '')

const methods = services.flatMap(({ name, methods: ofService }) =>
  ofService.map(({ localName }) => `${clientOf(name)}.${localName}`),
)

function calledMethods(): Set<string> {
  const files = globSync('**/*.{ts,tsx}', { cwd: sources, exclude: ['node_modules', 'build'] })
  const texts = files.map((file) => readFileSync(join(sources, file), 'utf8'))
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/\bapi\s*\.(\w+)\s*\.(\w+)/g)].map(([, a, b]) => `${a}.${b}`)),
  )
}

test('every method is called by a page or listed in console/unreachable.ts', () => {
  const called = calledMethods()
  assert.deepEqual(
    methods.filter((method) => !called.has(method) && !Object.hasOwn(unreachable, method)),
    [],
  )
})

test('console/unreachable.ts lists only methods that exist and that no page calls', () => {
  const called = calledMethods()
  assert.deepEqual(
    Object.keys(unreachable).filter((method) => called.has(method) || !methods.includes(method)),
    [],
  )
})
