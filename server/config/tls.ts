import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

export type Tls = { cert: string; key: string }

/** Returns undefined if TLS is off. If the files cannot be used, adds a fault to `faults` and returns undefined too. */
export function readTls(certFile: string, keyFile: string, faults: string[]): Tls | undefined {
  if (certFile === '' && keyFile === '') return undefined
  if (certFile === '' || keyFile === '') {
    faults.push('STEMMA_TLS_CERT and STEMMA_TLS_KEY must be set together')
    return undefined
  }
  try {
    const tls = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
    createSecureContext(tls)
    return tls
  } catch (error) {
    faults.push(
      `STEMMA_TLS_CERT and STEMMA_TLS_KEY must be PEM files that belong together: ${(error as Error).message}`,
    )
    return undefined
  }
}
