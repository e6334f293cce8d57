import type { IncomingMessage } from 'node:http'

/**
 * Whether a client asks for a page: browsers name `text/html` in the header Accept, and programs accept anything or
 * name JSON (RFC 9110 section 12.5.1).
 */
export function prefersHtml({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const { accept } = headers
  if (accept === undefined || (method !== 'GET' && method !== 'HEAD')) return false
  const html = qualityOf(accept, 'text/html')
  return html > 0 && html >= qualityOf(accept, 'application/json')
}

/** The weight of a media type that the header names, from 0 to 1. Ranges such as `*` are not counted. */
function qualityOf(accept: string, type: string): number {
  for (const part of accept.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = weight === undefined ? 1 : Number(weight.slice(2))
    return quality >= 0 && quality <= 1 ? quality : 0
  }
  return 0
}
