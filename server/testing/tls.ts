// A self-signed certificate for localhost and its key. Both are public, so use them only in tests.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'tls')

export const certFile = join(folder, 'test-only-cert.pem')
export const keyFile = join(folder, 'test-only-key.pem')
export const testTls = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
