// Rules for the head of an HTTP/1.1 request that node:http does not enforce.
import type { IncomingMessage } from 'node:http'
import type { StatusError } from '../aip/errors.ts'
import { constant, malformed, tooLarge, unsupportedEncoding } from '../aip/errors.ts'
import { maxHeaderBytes, maxUrlBytes } from './listen/limits.ts'

const longUrl = constant(tooLarge(`the URL must be at most ${maxUrlBytes} bytes`, 414))
const largeHeaders = constant(tooLarge(`the headers must be at most ${maxHeaderBytes} bytes`, 431))
const twoHosts = constant(malformed('the header Host must be sent once'))
const noHost = constant(malformed('the header Host is required'))
const wrongHost = constant(
  malformed('the header Host must be a host name or address, optionally with a port'),
)
const codingInHttp10 = constant(malformed('HTTP/1.0 has no Transfer-Encoding; use HTTP/1.1'))
const otherCoding = constant(malformed('the only supported Transfer-Encoding is chunked'))

/** The error of a request that must be refused whatever its path is. */
export function headFault(request: IncomingMessage): StatusError | undefined {
  const { url = '', httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformed(`the request line must not contain HTTP/${httpVersion}; use HTTP/1.1`)
  if (url.length > maxUrlBytes) return longUrl
  return headersFault(request) ?? transferFault(httpVersion, headers['transfer-encoding'])
}

/** The separators of a header line: the colon, a space and the line break. */
const separatorBytes = 4

function headersFault({ rawHeaders, httpVersion, headers }: IncomingMessage): StatusError | undefined {
  let bytes = 0
  let hostCount = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string // at is below the length
    bytes += name.length + (rawHeaders[at + 1] as string).length + separatorBytes
    if (name.length === 4 && name.toLowerCase() === 'host') hostCount++
  }
  if (bytes > maxHeaderBytes) return largeHeaders
  return hostFault(hostCount, headers.host, httpVersion)
}

/** A name, an IPv4 address or an IPv6 address in brackets, and optionally a port (RFC 3986 section 3.2.2). */
const validHost = /^(?:[a-z0-9._~%!$&'()*+,;=-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i

/** RFC 9112 section 3.2. If a request had two hosts, a proxy and this server could each use a different one. */
function hostFault(
  hostCount: number,
  host: string | undefined,
  httpVersion: string,
): StatusError | undefined {
  if (hostCount > 1) return twoHosts
  if (host === undefined) return httpVersion === '1.0' ? undefined : noHost
  return validHost.test(host) ? undefined : wrongHost
}

/**
 * A body in any other coding than chunked would be read as if it were not encoded. HTTP/1.0 has no transfer codings, so
 * a proxy for HTTP/1.0 may disagree about where the message ends (RFC 9112 section 6.1).
 */
function transferFault(httpVersion: string, coding: string | undefined): StatusError | undefined {
  if (coding === undefined) return undefined
  if (httpVersion === '1.0') return codingInHttp10
  return coding.toLowerCase() === 'chunked' ? undefined : otherCoding
}

export function contentEncodingFault({ headers }: IncomingMessage): StatusError | undefined {
  const encoding = headers['content-encoding']
  if (encoding === undefined || /^(?:identity)?$/i.test(encoding)) return undefined
  return unsupportedEncoding(encoding)
}

export function requireNoContentEncoding(request: IncomingMessage): void {
  const fault = contentEncodingFault(request)
  if (fault) throw fault
}
