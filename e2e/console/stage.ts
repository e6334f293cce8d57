// A server with an organization, and a browser in which the owner is signed in to the console.
import { randomBytes } from 'node:crypto'
import { addOperator } from '@stemma/server/auth/administration/operators.ts'
import { openExpiringStates, signInIdOf } from '@stemma/server/auth/login/expiring-states.ts'
import { putSignInRecord } from '@stemma/server/auth/sign-in-records.ts'
import { newSignIn } from '@stemma/server/auth/sign-outs.ts'
import { operatorAccess } from '@stemma/server/policy/system-access.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import type { Engine } from '@stemma/server/testing/stores.ts'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { freePort } from '../../api/testing/free-port.ts'
import { newBrowserContext, openChromium } from '../sign-in/chromium.ts'
import { callRest } from '../sign-in/organizations.ts'
import { addAccount } from '../sign-in/sign-in.ts'
import { watchProblems } from './problems.ts'

export type Stage = {
  platform: Platform
  browser: Browser
  /** The uid of the organization acme. */
  organization: string
  /** The uid of the owner, who has an account with a password. */
  owner: string
  /** A page on which the owner is signed in. */
  page: Page
  /** Everything that went wrong in the pages of this stage: errors, CSP reports, requests to other origins. */
  problems: string[]
  /** Opens a page in a new browser context in which a person is signed in; by default the owner. */
  openPage(person?: string, options?: BrowserContextOptions): Promise<Page>
  /** Calls REST as the owner. */
  call: (method: string, path: string, body?: Parameters<typeof callRest>[3]) => ReturnType<typeof callRest>
  /** The URL of a path of the console. */
  at(path: string): string
  close(): Promise<void>
}

export const ownerEmail = 'owner@example.com'

export async function openStage(
  engine: Engine = 'sqlite',
  args: string[] = [],
  options: Parameters<typeof startPlatform>[2] = {},
): Promise<Stage> {
  const [started, opened] = await Promise.allSettled([
    startOnLocalhost(engine, args, options),
    openChromium(),
  ])
  const close = async () => {
    try {
      if (opened.status === 'fulfilled') await opened.value.close()
    } finally {
      if (started.status === 'fulfilled') await started.value.stop()
    }
  }
  try {
    if (started.status === 'rejected') throw started.reason
    if (opened.status === 'rejected') throw opened.reason
    return { ...(await signInOwner(started.value, opened.value)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function signInOwner(platform: Platform, browser: Browser): Promise<Omit<Stage, 'close'>> {
  const { organization } = platform.owner
  const owner = await addAccount(platform, ownerEmail)
  await platform.bind(owner, 'owner', organization)
  const token = await platform.tokenOf(owner)
  const problems: string[] = []
  const openPage = async (person = owner, options: BrowserContextOptions = {}) => {
    const context = await newBrowserContext(browser, { javaScriptEnabled: true, ...options })
    await signInContext(platform, context, person)
    const page = await context.newPage()
    watchProblems(page, platform.url, problems)
    return page
  }
  return {
    ...{ platform, browser, organization, owner, problems, openPage },
    page: await openPage(owner, { viewport: { width: 1280, height: 800 } }),
    call: (method, path, body) => callRest(method, platform.url + path, token, body),
    at: (path) => platform.url + path,
  }
}

/** Makes the owner an operator of the server. */
export const makeOperator = ({ platform, owner }: Stage) =>
  platform.store.write(() => addOperator(operatorAccess, owner, Date.now()))

/** The URL has a host name, not an IP address, because passkeys belong to a host name. */
async function startOnLocalhost(
  engine: Engine,
  args: readonly string[],
  options: Parameters<typeof startPlatform>[2],
): Promise<Platform> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const platform = await startPlatform(engine, ['--port', String(port), '--base-url', url, ...args], options)
  return { ...platform, url }
}

/** Stores a session and gives its cookie to the browser, without the pages of sign-in. */
export async function signInContext(
  { store, secret, url }: Platform,
  context: BrowserContext,
  person: string,
): Promise<void> {
  const [id, grant] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]
  const now = Date.now()
  const signIn = { ...(await newSignIn(store, person, now)), id: signInIdOf(grant) }
  const states = openExpiringStates({ secret, now: Date.now })
  await store.write(function* () {
    yield* states.put('ConsoleSession', id, { signIn }, 3600, { grant, identity: person })
    yield* putSignInRecord({
      ...{ id: signIn.id, identity: person, isBrowser: false, client: 'console', address: '::1' },
      ...{ userAgent: 'Chromium', createTime: now, useTime: now },
      expireTime: now + 3_600_000,
    })
  })
  await context.addCookies([{ name: 'stemma-console', value: id, url, httpOnly: true, sameSite: 'Strict' }])
}
