import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { matchesPattern, patternFor } from './tag-pattern.ts'

describe('a pattern of tags', () => {
  test('matches the whole name, with * for any number of characters and ? for one', () => {
    const matching = {
      '*': ['', 'a', 'v1.2'],
      'v*': ['v', 'v1', 'v*'],
      'v?': ['v1', 'v_'],
      '*-final': ['-final', 'a-final-final'],
      '1.*.?': ['1..2', '1.2.3', '1.2.3.4'],
      '*a*b*': ['ab', 'xaxbx', 'aab'],
      latest: ['latest'],
    }
    for (const [pattern, names] of Object.entries(matching))
      for (const name of names) assert.ok(matchesPattern(name, pattern), `${pattern} ${name}`)
    const others = {
      'v*': ['V1', 'av', ''],
      'v?': ['v', 'v12'],
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
    for (const pattern of upTo('ab*?', 4)) {
      const expression = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`)
      for (const name of upTo('ab', 5))
        assert.equal(matchesPattern(name, pattern), expression.test(name), `${pattern} ${name}`)
    }
  })

  test('of many stars is matched in few steps', () => {
    let reads = 0
    const read = (_name: object, key: string | symbol) => {
      if (key === 'length') return 128
      reads++
      return 'a'
    }
    const hostile = `${'*a'.repeat(63)}*b`
    assert.equal(matchesPattern(new Proxy({}, { get: read }) as never, hostile), false) // a name that counts reads
    assert.ok(reads <= 128 * 128, String(reads))
  })

  test('is found among others', () => {
    assert.equal(patternFor('v1', ['latest', 'v*', '*']), 'v*')
    assert.equal(patternFor('v1', []), undefined)
  })
})
