import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { temporaryFolder } from '../testing/stores.ts'
import { readConfig } from './config.ts'
import type { S3Config } from './content.ts'

const s3 = { STEMMA_CONTENT_DRIVER: 's3', STEMMA_S3_BUCKET: 'images' }
const key = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'hunter2' }

const read = (env: Record<string, string>) => readConfig(env, []).config.content as S3Config

function faultOf(env: Record<string, string>): string {
  try {
    read(env)
  } catch (error) {
    assert.ok(!(error as Error).message.includes('hunter2'), 'the message contains the secret')
    return (error as Error).message
  }
  return ''
}

describe('the settings of S3', () => {
  let folder: string
  before(async () => {
    folder = await temporaryFolder()
  })
  const fileWith = async (name: string, text: string) => {
    const file = join(folder, name)
    await writeFile(file, text)
    return file
  }

  test('have defaults for AWS', () => {
    assert.deepEqual(read({ ...s3, ...key }), {
      driver: 's3',
      bucket: 'images',
      region: 'us-east-1',
      endpoint: undefined,
      pathStyle: undefined,
      prefix: '',
      credentials: { accessKeyId: 'AKIA', secretAccessKey: 'hunter2', sessionToken: undefined },
      redirectSeconds: undefined,
      spoolFolder: 'data/spool',
    })
  })

  test('read the secret from a file, without the line break at its end', async () => {
    const file = await fileWith('secret', 'hunter2\n')
    const { credentials } = read({ ...s3, AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY_FILE: file })
    assert.deepEqual(credentials, {
      accessKeyId: 'AKIA',
      secretAccessKey: 'hunter2',
      sessionToken: undefined,
    })
  })

  test('use the role of the workload if there is no static key', async () => {
    const tokenFile = await fileWith('token', 'header.payload.signature')
    const role = { AWS_ROLE_ARN: 'arn:aws:iam::1:role/stemma', AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile }
    assert.deepEqual(read({ ...s3, ...role }).credentials, {
      ...{ roleArn: 'arn:aws:iam::1:role/stemma', tokenFile, stsEndpoint: undefined },
    })
    assert.ok('accessKeyId' in read({ ...s3, ...role, ...key }).credentials)
  })

  test('are ignored without the S3 driver if they begin with AWS_', () => {
    assert.equal(read({ AWS_ACCESS_KEY_ID: 'AKIA', AWS_ROLE_ARN: 'x' }).driver, 'files')
  })

  test('that are wrong cause an error that names the setting but does not contain the secret', () => {
    const wrong: [Record<string, string>, RegExp][] = [
      [{ STEMMA_CONTENT_DRIVER: 'gcs' }, /STEMMA_CONTENT_DRIVER .*must be one of files, s3, not "gcs"/],
      [{ STEMMA_S3_BUCKET: 'images' }, /STEMMA_S3_BUCKET .*set STEMMA_CONTENT_DRIVER to s3/],
      [{ STEMMA_CONTENT_DRIVER: 's3', ...key }, /STEMMA_S3_BUCKET .*is required for S3/],
      [{ ...s3, ...key, STEMMA_S3_BUCKET: 'a/b' }, /STEMMA_S3_BUCKET .*must be the name of a bucket/],
      [{ ...s3, ...key, STEMMA_S3_ENDPOINT: 'minio:9000' }, /STEMMA_S3_ENDPOINT .*http or https URL/],
      [{ ...s3, ...key, STEMMA_S3_PREFIX: '../x' }, /STEMMA_S3_PREFIX .*must be up to eight names/],
      [{ ...s3, ...key, STEMMA_S3_REDIRECT: 'yes' }, /STEMMA_S3_REDIRECT .*must be a whole number/],
      [{ ...s3, ...key, STEMMA_S3_PATH_STYLE: 'yes' }, /STEMMA_S3_PATH_STYLE .*must be one of auto, on, off/],
      [s3, /needs credentials: AWS_ACCESS_KEY_ID with .*, or AWS_ROLE_ARN with/],
      [{ ...s3, AWS_ACCESS_KEY_ID: 'AKIA' }, /needs AWS_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY_FILE/],
      [{ ...s3, AWS_SECRET_ACCESS_KEY: 'hunter2' }, /AWS_ACCESS_KEY_ID .*together with its secret/],
      [{ ...s3, ...key, AWS_SECRET_ACCESS_KEY_FILE: 'x' }, /must not both be set/],
      [{ ...s3, AWS_ROLE_ARN: 'x' }, /AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE must be set together/],
      [
        { ...s3, AWS_ROLE_ARN: 'x', AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'none') },
        /AWS_WEB_IDENTITY_TOKEN_FILE .*must be a file that can be read/,
      ],
    ]
    for (const [env, pattern] of wrong) assert.match(faultOf(env), pattern)
  })
})
