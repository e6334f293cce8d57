import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { removeAt, setAt } from './json-text.ts'

const docker = `{
\t"auths": {
\t\t"https://index.docker.io/v1/": {
\t\t\t"auth": "e30\\u003d"
\t\t}
\t},
\t"big": 12345678901234567890.10,
\t"credHelpers": { "a.example.com": "one" , "b.example.com":"two"}
}
`

describe('changing the text of a JSON object', () => {
  test('adds, replaces and removes one member, and keeps every other byte', () => {
    const added = setAt(docker, ['credHelpers', 'c.example.com'], 'stemma')
    assert.equal(added, docker.replace('"two"', '"two",\n\t\t"c.example.com": "stemma"'))
    assert.equal(removeAt(added, ['credHelpers', 'c.example.com']), docker)
    const replaced = setAt(docker, ['credHelpers', 'a.example.com'], 'stemma')
    assert.equal(replaced, docker.replace('"one"', '"stemma"'))
    assert.equal(removeAt(docker, ['big']), docker.replace(/"big".*\n\t/, ''))
    assert.equal(removeAt(docker, ['auths', 'nothing']), docker)
    assert.equal(removeAt(docker, ['nothing', 'at', 'all']), docker)
  })

  test('indents new members as the file does', () => {
    assert.equal(setAt('{}', ['a', 'b'], 'c'), '{\n\t"a": {\n\t\t"b": "c"\n\t}\n}')
    assert.equal(setAt('{\n  "x": 1\n}\n', ['a', 'b'], {}), '{\n  "x": 1,\n  "a": {\n    "b": {}\n  }\n}\n')
    assert.equal(setAt('{ "a": {} }', ['a', 'b'], 1), '{ "a": {\n\t\t"b": 1\n\t} }')
  })

  test('is not confused by braces, commas and quotes in strings, or by repeated names', () => {
    const text = '{"x": "},{\\"a\\": [", "a": 1, "y": [{"a": 2}, "]"], "a": 3}'
    assert.equal(setAt(text, ['a'], 4), text.replace('3', '4'))
    assert.deepEqual(JSON.parse(removeAt(text, ['a'])), { x: '},{"a": [', y: [{ a: 2 }, ']'] })
    assert.equal(JSON.parse(setAt(text, ['a', 'b'], 5)).a.b, 5)
  })

  test('always gives JSON in which the member at the path is set or removed', () => {
    const texts = [
      '{}',
      '{"a":{}}',
      docker,
      '{"a":{"b":{"c":[1,{"d":null}]}},"e":true}',
      ' {\r\n"a":\t{"b":0}\r\n}\r\n',
    ]
    for (const text of texts)
      for (const path of [['a'], ['a', 'b'], ['credHelpers', 'a.example.com'], ['auths'], ['e']]) {
        const set = JSON.parse(setAt(text, path, { v: 1 }))
        assert.deepEqual(
          path.reduce((object, key) => object[key], set),
          { v: 1 },
        )
        const removed = JSON.parse(removeAt(setAt(text, path, 1), path))
        assert.equal(
          path.reduce((object, key) => object?.[key], removed),
          undefined,
        )
      }
  })
})
