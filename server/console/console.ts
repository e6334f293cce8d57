// Serves the web console below /console/: its files, and one HTML page for all other paths. The paths of its sessions
// belong to sign-in (auth/login/console).

import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { frameStyle } from '@stemma/api/look/frame-style.ts'
import { lazily } from '../lazily.ts'
import { prefixOf } from '../pages/url-prefix.ts'
import { contentSecurityPolicy, indexPage } from './index-page.ts'
import type { Asset, Bundle } from './load-bundle.ts'

export type ConsoleOptions = {
  baseUrl: string
  authUrl: string
  loadBundle(): Promise<Bundle>
  onError(error: unknown): void
}

type Handle = (request: IncomingMessage, response: ServerResponse, target: { path: string }) => Promise<void>

const home = '/console/'
const assetsPath = '/console/assets/'
const immutable = 'public, max-age=31536000, immutable'

/** A mount of the server (http/dispatch.ts). The files are loaded at the first request. */
export function openConsole(options: ConsoleOptions): { isFor(path: string): boolean; handle: Handle } {
  const open = lazily(async () => filesOf(await options.loadBundle(), options))
  return {
    isFor: (path) => path === '/console' || path.startsWith(home),
    async handle(request, response, { path }) {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return sendText(request, response, 405, 'method not allowed\n', { allow: 'GET, HEAD' })
      if (path === '/console') return sendText(request, response, 308, '', { location: homeOf(options) })
      try {
        send(request, response, path, await open())
      } catch (error) {
        options.onError(error)
        sendText(request, response, 500, 'the console cannot be shown; the log of the server says why\n')
      }
    },
  }
}

const homeOf = ({ baseUrl }: ConsoleOptions) => `${prefixOf(baseUrl)}${home}`

type Files = { assets: Map<string, Asset>; page: Asset; pageTag: string }

function filesOf(bundle: Bundle, { baseUrl, authUrl }: ConsoleOptions): Files {
  const frame = compressed('frame', 'text/css; charset=utf-8', frameStyle)
  const name = `frame-${digestOf(frameStyle).slice(0, 8)}.css`
  const text = indexPage(bundle, { prefix: prefixOf(baseUrl), issuer: authUrl }, name)
  return {
    assets: new Map([...bundle.assets.map((asset) => [asset.name, asset] as const), [name, frame]]),
    page: compressed('index.html', 'text/html; charset=utf-8', text),
    pageTag: `"${digestOf(text)}"`,
  }
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 27)

function compressed(name: string, type: string, text: string): Asset {
  const body = Buffer.from(text)
  return { name, type, body, gzip: gzipSync(body), brotli: brotliCompressSync(body) }
}

function send(request: IncomingMessage, response: ServerResponse, path: string, files: Files): void {
  if (!path.startsWith(assetsPath)) {
    response.setHeader('content-security-policy', contentSecurityPolicy)
    response.setHeader('cross-origin-opener-policy', 'same-origin')
    sendAsset(request, response, files.page, { 'cache-control': 'no-cache', etag: files.pageTag })
    return
  }
  const asset = files.assets.get(path.slice(assetsPath.length))
  if (asset) sendAsset(request, response, asset, { 'cache-control': immutable })
  else sendText(request, response, 404, 'no such file; reload the page\n')
}

function sendAsset(
  request: IncomingMessage,
  response: ServerResponse,
  { type, body, gzip, brotli }: Asset,
  headers: Record<string, string>,
): void {
  const accepted = acceptedEncodings(String(request.headers['accept-encoding'] ?? ''))
  const [encoding, bytes] = accepted.has('br')
    ? ['br', brotli]
    : accepted.has('gzip')
      ? ['gzip', gzip]
      : [undefined, body]
  const isUnchanged = headers.etag !== undefined && request.headers['if-none-match'] === headers.etag
  response.writeHead(isUnchanged ? 304 : 200, {
    ...headers,
    vary: 'accept-encoding',
    ...(!isUnchanged && { 'content-type': type, 'content-length': bytes.length }),
    ...(!isUnchanged && encoding && { 'content-encoding': encoding }),
  })
  response.end(isUnchanged || request.method === 'HEAD' ? undefined : bytes)
}

/** A weight of 0 means that the client does not accept the encoding (RFC 9110, section 12.4.2). */
function acceptedEncodings(header: string): Set<string> {
  const entries = header.split(',').map((entry) => entry.split(';').map((part) => part.trim().toLowerCase()))
  const accepted = entries.filter(([, weight = '']) => !/^q=0(\.0*)?$/.test(weight))
  return new Set(accepted.map(([name = '']) => name))
}

function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  const type = { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text) }
  response.writeHead(status, { ...headers, ...type })
  response.end(request.method === 'HEAD' ? undefined : text)
}
