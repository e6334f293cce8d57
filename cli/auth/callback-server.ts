// A local HTTP server that receives the redirect of the browser after sign-in. It serves one sign-in.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { Failure } from '../failure.ts'
import { sendPage } from './callback-page.ts'

export type CallbackServer<T> = { redirectUri: string; result: Promise<T>; close(): void }

const path = '/callback'

/** `redeem` is called with the URL of the redirect. Requests with another state are rejected and change nothing. */
export async function startCallbackServer<T>(
  state: string,
  timeoutMinutes: number,
  redeem: (url: URL) => Promise<T>,
): Promise<CallbackServer<T>> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>()
  let redeemed: Promise<T> | undefined
  const server = createServer(async (request, response) => {
    const url = callbackUrl(request, response, redirectUri, state)
    if (!url) return
    // A browser may send the request twice, but a code can be redeemed only once.
    redeemed ??= redeem(url)
    await sendOutcome(response, redeemed)
    redeemed.then(resolve, reject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  const timer = setTimeout(
    () => reject(new Failure(`the sign-in was not completed within ${timeoutMinutes} minutes; start again`)),
    timeoutMinutes * 60_000,
  )
  const close = () => {
    clearTimeout(timer)
    server.close()
    // Browsers open connections in advance, which would keep the process running.
    server.closeAllConnections()
  }
  return { redirectUri, result, close }
}

/** Returns the URL of a valid redirect. Answers all other requests. */
function callbackUrl(
  request: IncomingMessage,
  response: ServerResponse,
  redirectUri: string,
  state: string,
): URL | undefined {
  const [requestPath, query = ''] = (request.url ?? '').split(/\?(.*)/s)
  const url = new URL(`${redirectUri}?${query}`)
  if (request.method !== 'GET' || requestPath !== path) sendPage(response, 404, 'Not found.')
  else if (url.searchParams.get('state') !== state)
    sendPage(response, 400, 'This response belongs to another sign-in. Run stemma auth login again.')
  else return url
  return undefined
}

/** Returns after the page was sent, since the process ends soon after. */
async function sendOutcome(response: ServerResponse, redeemed: Promise<unknown>): Promise<void> {
  const error = await redeemed.then(
    () => undefined,
    (reason: Error) => reason,
  )
  if (error) sendPage(response, 400, `You are not signed in: ${error.message}.`)
  else sendPage(response, 200, 'You are signed in. You can close this window.')
  // The browser may have closed the connection.
  await finished(response).catch(() => undefined)
}
