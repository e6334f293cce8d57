// The steps of a person who signs in with `stemma auth login`.
import assert from 'node:assert/strict'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { password } from '../sign-in/sign-in.ts'
import type { Page } from '../sign-in/visitor.ts'
import { Visitor } from '../sign-in/visitor.ts'
import type { Running } from './client.ts'

/** The address that the person must open. */
export async function addressIn({ stderrMatch }: Running): Promise<string> {
  const [, address = ''] = await stderrMatch(/Open this address to sign in: (\S+)\n/)
  return address
}

/** Signs in as a browser does, and returns the address on this machine that the server redirects to. */
export async function visit(platform: Platform, address: string, email: string): Promise<string> {
  const visitor = new Visitor(platform.url)
  const page = await visitor.submit(await visitor.open(address), { email, password })
  assert.match(page.url, /^http:\/\/127\.0\.0\.1:\d+\/callback\?/, page.text)
  return page.url
}

/** Signs in with a browser on this machine, and returns what `stemma` printed. */
export async function finishLogin(platform: Platform, running: Running, email: string): Promise<string> {
  const answer = await fetch(await visit(platform, await addressIn(running), email))
  assert.match(await answer.text(), /You are signed in\. You can close this window\./)
  const { code, stdout, stderr } = await running.ended
  assert.deepEqual([code, stdout], [0, ''], stderr)
  return stderr
}

/** Enters the device code. Returns the confirmation page. */
export async function enterCode(
  platform: Platform,
  running: Running,
): Promise<{ visitor: Visitor; page: Page }> {
  const [, address = '', code = ''] = await running.stderrMatch(/machine: (\S+)\nand enter the code: (\S+)\n/)
  const [, addressWithCode = ''] = await running.stderrMatch(/shows the same code: (\S+)\n/)
  assert.ok(new URL(addressWithCode).search.includes(code))
  const visitor = new Visitor(platform.url)
  const page = await visitor.submit(await visitor.open(address), { user_code: code })
  assert.ok(page.text.includes(code))
  return { visitor, page }
}

/** An access token that expires in ten seconds, so that the next command refreshes it. */
export const expiringToken = (platform: Platform, identity: string): Promise<string> =>
  platform.tokenOf(identity, Date.now() - 3_590_000)
