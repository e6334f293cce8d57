// Listens on this machine for the browser that comes back from the sign-in, for one answer and no longer.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { Refused } from '../usage.ts'

export type Callback<T> = { redirectUri: string; outcome: Promise<T>; close(): void }

const path = '/callback'

/** `minutes` is how long it waits. What bears another state is turned away and changes nothing. */
export async function openCallback<T>(
  state: string,
  minutes: number,
  redeem: (answer: URL) => Promise<T>,
): Promise<Callback<T>> {
  const { promise: outcome, resolve, reject } = Promise.withResolvers<T>()
  let redeemed: Promise<T> | undefined

  async function answer(url: URL, response: ServerResponse): Promise<void> {
    // A browser may send the same twice; the code is good for once.
    redeemed ??= redeem(url)
    const fault = await redeemed.then(
      () => undefined,
      (error: Error) => error,
    )
    if (fault) tell(response, 400, `You are not signed in: ${fault.message}.`)
    else tell(response, 200, 'You are signed in. You can close this window.')
    // The page is sent before the program ends, unless its reader is gone.
    await finished(response).catch(() => undefined)
    redeemed.then(resolve, reject)
  }

  const server = createServer((request, response) => {
    const [asked, query = ''] = (request.url ?? '').split(/\?(.*)/s)
    const url = new URL(`${redirectUri}?${query}`)
    if (request.method !== 'GET' || asked !== path) tell(response, 404, 'There is nothing here.')
    else if (url.searchParams.get('state') !== state)
      tell(response, 400, 'This is not the sign-in that was begun here. Start again in the terminal.')
    else void answer(url, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`

  const late = () => reject(new Refused(`nobody signed in within ${minutes} minutes; start again`))
  const timer = setTimeout(late, minutes * 60_000)
  const close = () => {
    clearTimeout(timer)
    server.close()
    // Browsers open connections ahead of need, which would keep the program from ending.
    server.closeAllConnections()
  }
  return { redirectUri, outcome, close }
}

/** The address of this page has a code in it: nobody keeps it, or hears of it. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
}

function tell(response: ServerResponse, status: number, words: string): void {
  const safe = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  response.writeHead(status, headers)
  response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stemma</title>
<main><h1>${status === 200 ? 'Signed in' : 'Not signed in'}</h1><p>${safe}</p></main>
</html>
`)
}
