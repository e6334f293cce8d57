import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { test } from 'node:test'
import * as oidc from 'openid-client'
import { exitCodes } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { toFailure } from './oidc-client.ts'

test('a server that does not answer is reported as unavailable', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const options = { execute: [oidc.allowInsecureRequests], timeout: 0.05 }
  const error = await oidc.discovery(new URL(issuer), 'stemma', {}, oidc.None(), options).catch((e) => e)
  silent.close()
  assert.deepEqual(toFailure(error, issuer), new Failure(`${issuer} does not answer`, exitCodes.unavailable))
})
