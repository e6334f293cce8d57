// Steps of tests with second factors.
import assert from 'node:assert/strict'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { Secret, TOTP } from 'otpauth'
import type { Door } from '../../server/testing/doors.ts'

const { beginAuthenticatorApp, confirmAuthenticatorApp } = AccountService.method

/** An authenticator app. Its TOTP implementation is not that of the server. */
export type AuthenticatorApp = { codeAt(time: number): string }

/** Adds an app to the account of a token. The confirmation uses up its code for the time `now`. */
export async function addAuthenticatorApp(door: Door, token: string, now: number): Promise<AuthenticatorApp> {
  const { body, error } = await door.call(beginAuthenticatorApp, {}, token)
  assert.equal(error, undefined)
  const app = appOf(String(body?.secret))
  const confirmed = await door.call(confirmAuthenticatorApp, { code: app.codeAt(now) }, token)
  assert.equal(confirmed.error, undefined)
  return app
}

export function appOf(secret: string): AuthenticatorApp {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  return { codeAt: (timestamp) => totp.generate({ timestamp }) }
}
