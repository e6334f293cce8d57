// The settings of the storage for the content of the registry.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reader } from './readers.ts'
import { bucketName, integer, keyPrefix, matching, oneOf, url } from './readers.ts'
import type { SettingKey } from './settings.ts'

export type ContentConfig = { driver: 'files'; folder: string } | S3Config

export type S3Config = {
  driver: 's3'
  bucket: string
  region: string
  endpoint: string | undefined
  pathStyle: boolean | undefined
  prefix: string
  credentials:
    | { accessKeyId: string; secretAccessKey: string; sessionToken: string | undefined }
    | { roleArn: string; tokenFile: string; stsEndpoint: string | undefined }
  /** The lifetime of URLs that lead clients to S3; undefined if the server sends content itself. */
  redirectSeconds: number | undefined
  spoolFolder: string
}

export type Texts = Record<SettingKey, string>
export type Read = <T>(key: SettingKey, reader: Reader<T>, placeholder: T) => T

/**
 * Without the S3 driver, the bucket must not be set. Other settings of S3 are ignored: variables
 * that begin with AWS_ may be set for other programs.
 */
export function readContent(texts: Texts, dataDir: string, read: Read, faults: string[]): ContentConfig {
  const driver = read('contentDriver', oneOf('files', 's3'), 'files')
  if (driver === 'files') {
    if (texts.s3Bucket !== '')
      faults.push('STEMMA_S3_BUCKET (--s3-bucket) is for S3 only: set STEMMA_CONTENT_DRIVER to s3')
    return { driver, folder: join(dataDir, 'content') }
  }
  const endpoint = read('s3Endpoint', url, '') || undefined
  const pathStyle = read('s3PathStyle', oneOf('auto', 'on', 'off'), 'auto')
  return {
    driver,
    bucket: read('s3Bucket', bucketName, ''),
    region: read('s3Region', matching(/^[a-z0-9-]{1,64}$/, 'must be the name of a region'), ''),
    endpoint,
    pathStyle: pathStyle === 'auto' ? undefined : pathStyle === 'on',
    prefix: read('s3Prefix', keyPrefix, ''),
    credentials: readCredentials(texts, read, faults),
    redirectSeconds: read('s3Redirect', integer(0, maxRedirectSeconds), 0) || undefined,
    spoolFolder: texts.s3SpoolDir === '' ? join(dataDir, 'spool') : texts.s3SpoolDir,
  }
}

/** Signatures of S3 are valid for at most a week. */
const maxRedirectSeconds = 604_800

/** Static keys come before the role, as in the libraries of AWS. */
function readCredentials(texts: Texts, read: Read, faults: string[]): S3Config['credentials'] {
  const { s3AccessKeyId: accessKeyId, s3RoleArn: roleArn, s3TokenFile: tokenFile } = texts
  if (accessKeyId !== '') {
    const secretAccessKey = secretOf(texts, faults)
    return { accessKeyId, secretAccessKey, sessionToken: texts.s3SessionToken || undefined }
  }
  if (texts.s3SecretAccessKey !== '' || texts.s3SecretAccessKeyFile !== '')
    faults.push('AWS_ACCESS_KEY_ID (--aws-access-key-id) must be set together with its secret')
  else if (roleArn === '' && tokenFile === '') faults.push(noCredentials)
  else if (roleArn === '' || tokenFile === '')
    faults.push('AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE must be set together')
  else readText('AWS_WEB_IDENTITY_TOKEN_FILE (--aws-web-identity-token-file)', tokenFile, faults)
  return { roleArn, tokenFile, stsEndpoint: read('s3StsEndpoint', url, '') || undefined }
}

const noCredentials =
  'STEMMA_CONTENT_DRIVER is s3, which needs credentials: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY_FILE, or AWS_ROLE_ARN with AWS_WEB_IDENTITY_TOKEN_FILE'

function secretOf(texts: Texts, faults: string[]): string {
  const { s3SecretAccessKey: secret, s3SecretAccessKeyFile: file } = texts
  if (secret !== '' && file !== '')
    faults.push('AWS_SECRET_ACCESS_KEY and AWS_SECRET_ACCESS_KEY_FILE must not both be set')
  else if (secret === '' && file === '')
    faults.push('AWS_ACCESS_KEY_ID needs AWS_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY_FILE')
  if (file === '') return secret
  return readText('AWS_SECRET_ACCESS_KEY_FILE (--aws-secret-access-key-file)', file, faults)
}

function readText(name: string, file: string, faults: string[]): string {
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (text === '') faults.push(`${name} must not be empty`)
    return text
  } catch (error) {
    faults.push(`${name} must be a file that can be read: ${(error as Error).message}`)
    return ''
  }
}
