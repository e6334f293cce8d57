// The documentation: guides and reference at /docs, and OpenAPI at /openapi.json. Each response is made at its first
// request: most servers never need it, and the comments of the protos would take memory.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DescService } from '@bufbuild/protobuf'
import { frameStyle } from '@stemma/api/look/frame-style.ts'
import { slugOf } from '@stemma/api/reference/service-names.ts'
import { lazily } from '../lazily.ts'
import { packageFile } from '../package-files.ts'
import { pictures, readGuideSections, readPicture } from './guides.ts'

type ReferenceResponse = {
  status: number
  type: string
  body: Uint8Array
  cacheFor: number
  etag: string
  /** The content security policy. */
  policy?: string
}

type Respond = (query: string) => Promise<ReferenceResponse>
type Content = { body: string | Uint8Array; policy?: string }

/** In seconds. Short, because an update of the server may change the pages; 304 responses make requests cheap. */
const cacheFor = 300

const jsonType = 'application/json'
const htmlType = 'text/html; charset=utf-8'

/** The responses by path. */
export function referencePaths(baseUrl: string, services: Iterable<DescService>): Record<string, Respond> {
  const sections = readGuideSections()
  const guides = sections.flatMap((section) => section.guides)
  const slugs = [...new Set(services)].map(slugOf)
  const openSite = lazily(async () => {
    const { openSite } = await import('./site.ts')
    return openSite(baseUrl, sections)
  })
  const pagePath = (slug: string): [string, Respond] => [
    `/docs/${slug}`,
    once(htmlType, async () => (await openSite()).page(slug)),
  ]
  const searched = async (query: string) =>
    responseOf(htmlType, (await openSite()).search(new URLSearchParams(query).get('q') ?? ''))
  const index = once(htmlType, async () => (await openSite()).search(''))
  return {
    '/openapi.json': once(jsonType, async () => {
      const { makeOpenApi } = await import('@stemma/api/reference/openapi.ts')
      return { body: JSON.stringify(makeOpenApi(baseUrl)) }
    }),
    '/docs': (query) => (query === '' ? index('') : searched(query)),
    ...Object.fromEntries([...guides.map(({ slug }) => slug), ...slugs].map(pagePath)),
    ...Object.fromEntries(
      pictures().map(([path, type]) => [
        `/docs/${path}`,
        once(type, async () => ({ body: readPicture(path), policy: picturePolicy })),
      ]),
    ),
    ...assetPaths(),
  }
}

/** Pictures may have a style, and nothing else. */
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

const assets = packageFile('reference/assets')

/** The style and the scripts of the pages. */
function assetPaths(): Record<string, Respond> {
  return Object.fromEntries(
    readdirSync(assets).map((name) => {
      const text = () => readFileSync(join(assets, name), 'utf8')
      const isStyle = name.endsWith('.css')
      const type = isStyle ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
      return [
        `/docs/assets/${name}`,
        once(type, async () => ({ body: isStyle ? frameStyle + text() : text() })),
      ]
    }),
  )
}

/** Makes the response at the first request and keeps it. */
function once(type: string, make: () => Promise<Content>): Respond {
  return lazily(async () => responseOf(type, await make()))
}

const responseOf = (type: string, { body, policy }: Content): ReferenceResponse => ({
  ...{ status: 200, type, cacheFor, etag: etagOf(body), body: Buffer.from(body) },
  ...(policy !== undefined && { policy }),
})

const etagOf = (body: string | Uint8Array) =>
  `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
