// The reference of the API, for people at /docs and for programs at /openapi.json. It is made when somebody first
// asks for it: few do, and a server that nobody asks need not know what the protos say in words.
import { createHash } from 'node:crypto'
import type { DescService } from '@bufbuild/protobuf'
import { slugOf } from '@stemma/api/reference/naming.ts'

type Answer = { status: number; type: string; body: string; cacheFor: number; etag: string; policy?: string }

/** Short, since an update of the server may change it; asking again costs little. */
const cacheFor = 300

const json = 'application/json'
const page = 'text/html; charset=utf-8'

/** The paths with what is answered there. */
export function referencePaths(
  baseUrl: string,
  services: Iterable<DescService>,
): Record<string, () => Promise<Answer>> {
  const slugs = [...new Set(services)].map(slugOf)
  return {
    '/openapi.json': once(json, async () => {
      const { makeOpenApi } = await import('@stemma/api/reference/openapi.ts')
      return { body: JSON.stringify(makeOpenApi(baseUrl)) }
    }),
    '/docs': once(page, async () => {
      const { indexPage, policy } = await import('./pages.ts')
      return { body: indexPage(), policy }
    }),
    ...Object.fromEntries(
      slugs.map((slug) => [
        `/docs/${slug}`,
        once(page, async () => {
          const { policy, servicePage } = await import('./pages.ts')
          return { body: servicePage(slug), policy }
        }),
      ]),
    ),
  }
}

/** What is made once is kept. */
function once(type: string, make: () => Promise<{ body: string; policy?: string }>): () => Promise<Answer> {
  let made: Promise<Answer> | undefined
  return () => {
    made ??= make().then((answer) => ({ status: 200, type, cacheFor, etag: tagOf(answer.body), ...answer }))
    return made
  }
}

const tagOf = (body: string) => `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
