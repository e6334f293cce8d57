import type { ServerResponse } from 'node:http'

/** The URL of the page contains an authorization code: it must not be cached, or sent to other sites. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
}

export function sendPage(response: ServerResponse, status: number, message: string): void {
  const escaped = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  response.writeHead(status, headers)
  response.end(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stemma</title>
<main><h1>${status === 200 ? 'Signed in' : 'Not signed in'}</h1><p>${escaped}</p></main>
</html>
`)
}
