import { once } from 'node:events'
import type { Agent, IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'

export type RestCall = { method: string; path: string; headers: Record<string, string>; body?: string }

export type RestResponse = { status: number; body: string }

export const callTimeoutMs = 30_000

/** Without an agent, the call has a connection of its own, from `localAddress`. */
export async function sendRest(
  port: number,
  { method, path, headers, body }: RestCall,
  agent: Agent | false,
  localAddress?: string,
): Promise<RestResponse> {
  const signal = AbortSignal.timeout(callTimeoutMs)
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = request({
    ...{ host: '127.0.0.1', port, method, path, headers: { ...json, ...headers }, agent, signal },
    ...(localAddress !== undefined && { localAddress }),
  }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, body: await text(response) }
}
