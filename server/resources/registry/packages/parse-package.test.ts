import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PackageError, parsePackage } from './parse-package.ts'

const messageOf = (record: unknown) => {
  try {
    parsePackage(typeof record === 'string' ? record : JSON.stringify(record))
  } catch (error) {
    assert.ok(error instanceof PackageError, String(error))
    return error.message
  }
  return undefined
}

describe('a record of versions', () => {
  test('has defaults for all fields except package, versions and version', () => {
    const { name, metadata } = parsePackage('{"package": "python", "versions": [{"version": "3.13"}]}')
    assert.equal(name, 'python')
    assert.equal(metadata.latestVersion, '3.13')
    assert.equal(metadata.gracePeriodMonths, 0)
    const [version] = metadata.versions
    assert.deepEqual(
      [version?.exists, version?.fips, version?.lts, version?.eolDate],
      [true, false, false, ''],
    )
  })

  test('keeps the order of its versions, and the latest version that it states', () => {
    const record = {
      ...{ package: 'go', latestVersion: '1.26.1', gracePeriodMonths: 6 },
      versions: [{ version: '1.26' }, { version: '1.25', lts: true, latestVersion: '1.25.9' }],
    }
    const { metadata } = parsePackage(JSON.stringify(record))
    assert.deepEqual(
      metadata.versions.map(({ version, legacyLts }) => [version, legacyLts]),
      [
        ['1.26', ''],
        ['1.25', 'true'],
      ],
    )
    assert.equal(metadata.latestVersion, '1.26.1')
  })

  test('is refused with an error that names the field', () => {
    const versions = [{ version: '1' }]
    for (const [record, message] of [
      ['{"package": "a",\n"versions": [}', /^is not JSON: .*rsions": \[}/],
      ['[]', /^the record must be a JSON object/],
      [{ versions }, /^package must be a name .*but is missing$/],
      [{ package: '../a', versions }, /^package must be a name .*"\.\.\/a"$/],
      [{ package: 'a'.repeat(129), versions }, /^package must be a name/],
      [{ package: 'a' }, /^versions must be a list, but is missing$/],
      [{ package: 'a', versions, eol: 1 }, /^"eol" is not a field; the fields are package,/],
      [{ package: 'a', versions: [{ version: '1', eol: true }] }, /^versions\[0\]\."eol" is not a field/],
      [{ package: 'a', versions: [{}] }, /^versions\[0\]\.version must be a version .*missing$/],
      [{ package: 'a', versions: [...versions, ...versions] }, /^versions\[1\]\.version must be unique/],
      [
        { package: 'a', versions: [{ version: '1', eolDate: 'soon' }] },
        /^versions\[0\]\.eolDate must be a date/,
      ],
      [
        { package: 'a', versions: [{ version: '1', eolDate: '2026-02-30' }] },
        /eolDate must be a date .*02-30"$/,
      ],
      [{ package: 'a', versions: [{ version: '1', releaseDate: 7 }] }, /releaseDate must be a date .*is 7$/],
      [{ package: 'a', versions: [{ version: '1', exists: 'yes' }] }, /exists must be true or false/],
      [{ package: 'a', versions: [{ version: '1', exists: null }] }, /exists must be true .*is null$/],
      [{ package: 'a', versions: [{ version: '1', lts: null }] }, /lts must be true .*is null$/],
      [
        { package: 'a', versions, gracePeriodMonths: 121 },
        /^gracePeriodMonths must be a whole number from 0 to 120/,
      ],
      [{ package: 'a', versions, gracePeriodMonths: 0.5 }, /^gracePeriodMonths/],
      [
        { package: 'a', versions: Array.from({ length: 1001 }, (_, at) => ({ version: `${at}` })) },
        /^versions must have at most 1000 entries, but has 1001$/,
      ],
    ] as const)
      assert.match(messageOf(record) ?? 'accepted', message)
  })
})
