// The pages to take pictures of: every page of the console, with uids of the example organization, and other pages.
import { segmentOf } from '@stemma/console/paths.ts'
import type { Page } from 'playwright-core'
import type { Call } from './examples.ts'

export type Target = { name: string; path: string }

/** A list call for each path variable. The uid of the first resource replaces the variable. */
const lists: Record<string, string> = {
  group: '/iam/v2beta1/groups?name=platform',
  identity: '/iam/v2beta1/identities?pageSize=1&orderBy=name',
  role: '/iam/v2beta1/roles?pageSize=1&name=editor',
  repo: '/registry/v2beta1/repos?pageSize=1&orderBy=name',
  tag: '/registry/v2beta1/tags?pageSize=1&orderBy=name',
  advisory: '/vulnerabilities/v2beta1/advisories?pageSize=1',
  subscription: '/events/v2beta1/subscriptions?pageSize=1',
  provider: '/iam/v2beta1/identityProviders?pageSize=1',
  entry: '/audit/v2beta1/entries?pageSize=1&action=updated',
  organization: '/server/v2beta1/organizations?pageSize=1',
}

const others: readonly Target[] = [
  { name: 'start', path: '/' },
  { name: 'sign-in', path: '/console/sign-in' },
  { name: 'invite', path: '/invite/unknown' },
  { name: 'not-found', path: '/nowhere' },
  { name: 'docs', path: '/docs' },
  { name: 'docs-search', path: '/docs?q=create+group' },
  { name: 'docs-guide', path: '/docs/tour' },
  { name: 'docs-service', path: '/docs/iam-v2beta1-groups' },
]

export async function findTargets(call: Call): Promise<Target[]> {
  // Not a literal, so that TypeScript does not check the files of the console with the settings for this file.
  const name = '@stemma/console/routes.ts'
  const { routes } = (await import(name)) as { routes: { path: string }[] }
  const targets: Target[] = []
  for (const { path } of routes) {
    const filled = await fill(path, call)
    if (filled === undefined) console.log(`no example for ${path}`)
    else targets.push({ name: nameOf(path), path: filled })
  }
  return [...targets, ...others]
}

const nameOf = (path: string) =>
  path
    .replace('/console/', 'console-')
    .replace('g/:group', 'group')
    .replaceAll(/[/:]+/g, '-')
    .replace(/-$/, '')

/** Calls the API as the person who is signed in on a page. */
export async function openCaller(page: Page, url: string): Promise<Call> {
  const response = await page.request.post(`${url}/console/token`, {
    headers: { 'x-stemma-console': '1', origin: url },
  })
  const { token } = (await response.json()) as { token: string }
  return async (method, path, data) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await page.request.fetch(url + path, { method, headers, ...(data && { data }) })
    if (!answer.ok()) throw new Error(`${method} ${path}: ${await answer.text()}`)
    return (await answer.json()) as Record<string, unknown>
  }
}

/**
 * Replaces the variables of a path with uids. Undefined if there is no resource for a variable. For
 * `group`, the organization of the group is used.
 */
async function fill(path: string, call: Call): Promise<string | undefined> {
  let filled = path
  for (const [, variable = ''] of path.matchAll(/:(\w+)/g)) {
    const answer = await call('GET', lists[variable] ?? '/')
    const found = Object.values(answer).find(Array.isArray)?.[0] as { uid?: string } | undefined
    const uid = variable === 'group' ? found?.uid?.split('/')[0] : found?.uid
    if (uid === undefined) return undefined
    filled = filled.replace(`:${variable}`, segmentOf(uid))
  }
  return filled
}
