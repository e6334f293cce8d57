import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { matchesPattern, patternFor } from './tag-pattern.ts'

describe('a pattern of tags', () => {
  test('matches the whole name, with * for any number of characters', () => {
    const matching = {
      '*': ['', 'a', 'v1.2'],
      'v*': ['v', 'v1', 'v*'],
      '*-final': ['-final', 'a-final-final'],
      '1.*.3': ['1..3', '1.2.3', '1.2.3.3'],
      '*a*b*': ['ab', 'xaxbx', 'aab'],
      latest: ['latest'],
    }
    for (const [pattern, names] of Object.entries(matching))
      for (const name of names) assert.ok(matchesPattern(name, pattern), `${pattern} ${name}`)
    const others = {
      'v*': ['V1', 'av', ''],
      'a*a': ['a', 'ab'],
      '1.*': ['10', '1'],
      latest: ['latest2', 'lates'],
    }
    for (const [pattern, names] of Object.entries(others))
      for (const name of names) assert.ok(!matchesPattern(name, pattern), `${pattern} ${name}`)
  })

  test('agrees with a regular expression on all short names and patterns', () => {
    const texts = (alphabet: string, length: number): string[] =>
      length === 0 ? [''] : texts(alphabet, length - 1).flatMap((text) => [...alphabet].map((c) => text + c))
    const upTo = (alphabet: string, length: number) =>
      Array.from({ length: length + 1 }, (_, size) => texts(alphabet, size)).flat()
    for (const pattern of upTo('ab*', 5)) {
      const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`)
      for (const name of upTo('ab', 5))
        assert.equal(matchesPattern(name, pattern), expression.test(name), `${pattern} ${name}`)
    }
  })

  test('is chosen from a list: the first one that matches the name', () => {
    assert.equal(patternFor('v1', ['latest', 'v*', '*']), 'v*')
    assert.equal(patternFor('v1', []), undefined)
  })
})
