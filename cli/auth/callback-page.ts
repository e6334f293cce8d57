import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { logo } from '@stemma/api/look/logo.ts'
import { pageStyle } from '@stemma/api/look/page-style.ts'

const styleHash = createHash('sha256').update(pageStyle).digest('base64')

/** The URL of the page contains an authorization code: it must not be cached, or sent to other sites. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
}

/** The page looks like the pages of the server. */
export function sendPage(response: ServerResponse, status: number, message: string): void {
  const escaped = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const title = status === 200 ? 'Signed in' : 'Not signed in'
  response.writeHead(status, headers)
  response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Stemma</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
<header>${logo}<span>Stemma</span></header>
<h1>${title}</h1>
<p>${escaped}</p>
</main>
</body>
</html>
`)
}
