import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readConfig } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { checkContent } from './content-storage.ts'
import type { S3Server } from './testing/s3-server.ts'
import { startS3Server } from './testing/s3-server.ts'

describe('the check of S3 at the start', () => {
  let server: S3Server
  before(async () => {
    server = await startS3Server()
  })
  after(() => server.stop())

  const configWith = (...flags: string[]) => readConfig({}, [...server.settings, ...flags]).config

  test('finds nothing wrong with a bucket that can be used', async () => {
    assert.equal(await checkContent(configWith()), undefined)
  })

  test('refuses a bucket that does not exist, and credentials that S3 refuses', async () => {
    for (const flag of ['--s3-bucket=other', '--aws-secret-access-key=wrong']) {
      const config = configWith(flag)
      await assert.rejects(checkContent(config), (error: Error) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, /the bucket \w+ \(STEMMA_S3_BUCKET\) at http:.* cannot be used: /)
        assert.doesNotMatch(error.message, /wrong/)
        return true
      })
    }
  })

  test('warns if S3 does not answer within the timeout', async () => {
    // Nothing listens on this port.
    const config = configWith('--s3-endpoint=http://127.0.0.1:1')
    assert.match(
      (await checkContent(config, 1)) ?? '',
      /the bucket stemma .* http:\/\/127\.0\.0\.1:1 has not/,
    )
  })
})
