// Compares a REST call with a plain node:http server that sends the same bytes.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import type { FixedResponse } from '../load/bare-http.ts'
import { startBareServer, startProcess } from '../load/processes.ts'
import { ratioLine, seconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'

export async function compareWithBareHttp(
  label: string,
  { server, authorization }: BenchServer,
  path: string,
  minRatio: number,
): Promise<Line> {
  const response = await responseOf(server.port, path, authorization)
  const bare = await startBareServer('bench/load/bare-http.ts', response)
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  const task = { request: requestOf(path, authorization), inFlight: 32, seconds }
  try {
    return await ratioLine(`${label}, ${response.body.length} B`, { load, server, bare, task }, minRatio)
  } finally {
    await Promise.all([bare.stop(), load.stop()])
  }
}

export const requestOf = (path: string, authorization: string) =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${authorization}\r\n\r\n`

const headersSetByNode = new Set(['date', 'connection', 'keep-alive'])

export async function responseOf(
  port: number,
  path: string,
  authorization: string,
  method = 'GET',
): Promise<FixedResponse> {
  const request = get({ method, port, path, host: '127.0.0.1', agent: false, headers: { authorization } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const body = await text(response)
  if (response.statusCode !== 200) throw new Error(`${path} returned ${body}`)
  const headers: string[] = []
  for (let at = 0; at < response.rawHeaders.length; at += 2) {
    const [name = '', value = ''] = response.rawHeaders.slice(at, at + 2)
    if (!headersSetByNode.has(name.toLowerCase())) headers.push(name, value)
  }
  return { headers, body }
}
