// The API reference: pages at /docs and OpenAPI at /openapi.json. Each response is made at its first request: most
// servers never need it, and the comments of the protos would take memory.
import { createHash } from 'node:crypto'
import type { DescService } from '@bufbuild/protobuf'
import { slugOf } from '@stemma/api/reference/service-names.ts'

type ReferenceResponse = {
  status: number
  type: string
  body: Uint8Array
  cacheFor: number
  etag: string
  /** The content security policy. */
  policy?: string
}

/** In seconds. Short, because an update of the server may change the reference; 304 responses make requests cheap. */
const cacheFor = 300

const jsonType = 'application/json'
const htmlType = 'text/html; charset=utf-8'

/** The responses by path. */
export function referencePaths(
  baseUrl: string,
  services: Iterable<DescService>,
): Record<string, () => Promise<ReferenceResponse>> {
  const slugs = [...new Set(services)].map(slugOf)
  return {
    '/openapi.json': once(jsonType, async () => {
      const { makeOpenApi } = await import('@stemma/api/reference/openapi.ts')
      return { body: JSON.stringify(makeOpenApi(baseUrl)) }
    }),
    '/docs': once(htmlType, async () => {
      const { indexPage, policy } = await import('./pages.ts')
      return { body: indexPage(), policy }
    }),
    ...Object.fromEntries(slugs.map((slug) => [`/docs/${slug}`, serviceResponse(slug)])),
  }
}

const serviceResponse = (slug: string) =>
  once(htmlType, async () => {
    const { policy, servicePage } = await import('./pages.ts')
    return { body: servicePage(slug), policy }
  })

/** Makes the response at the first request and keeps it. */
function once(
  type: string,
  make: () => Promise<{ body: string; policy?: string }>,
): () => Promise<ReferenceResponse> {
  let made: Promise<ReferenceResponse> | undefined
  return () => {
    made ??= make().then((content) => ({
      ...{ status: 200, type, cacheFor, etag: etagOf(content.body) },
      ...content,
      body: Buffer.from(content.body),
    }))
    return made
  }
}

const etagOf = (body: string) => `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
