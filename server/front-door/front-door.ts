// The page at `/` for browsers. Programs get the error of a path that does not exist.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { contentSecurityPolicy, renderPage } from '../pages/frame.ts'
import { frontDoorPage, notFoundPage, unavailablePage } from '../pages/front-door.ts'
import { prefixOf } from '../pages/url-prefix.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'

export type FrontDoorDependencies = {
  store: Store
  /** The URL of the API. Its host is the name of the server, and its path the prefix of all links. */
  baseUrl: string
  prefersHtml(request: IncomingMessage): boolean
}

export function openFrontDoor({ store, baseUrl, prefersHtml }: FrontDoorDependencies) {
  const server = { host: new URL(baseUrl).host, prefix: prefixOf(baseUrl) }
  return {
    /** For browsers at a path that does not exist. */
    notFound: { body: renderPage(notFoundPage(server), server.prefix), policy: contentSecurityPolicy },
    isFor: (path: string, request: IncomingMessage) => path === '/' && prefersHtml(request),
    async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const isSetUp = await hasOrganization(store)
      const content = isSetUp === undefined ? unavailablePage : frontDoorPage(server, isSetUp)
      const page = renderPage(content, server.prefix)
      response.writeHead(isSetUp === undefined ? 503 : 200, {
        'content-type': 'text/html; charset=utf-8',
        'content-length': Buffer.byteLength(page),
        'content-security-policy': contentSecurityPolicy,
      })
      response.end(request.method === 'HEAD' ? undefined : page)
    },
  }
}

/** Undefined if the store cannot be reached. */
async function hasOrganization(store: Store): Promise<boolean | undefined> {
  try {
    const rows = await store.query(sql`select uid from groups limit 1`)
    return rows.length > 0
  } catch {
    return undefined
  }
}
