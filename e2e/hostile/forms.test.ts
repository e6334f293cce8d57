// Forms that other sites make a browser send, and cookies that other hosts or pages without TLS set.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addAccount, password, startSignInPlatform } from '../sign-in/sign-in.ts'

const ada = 'ada@example.com'

/** The paths to which our pages send forms, except `/invite` (invite-link.test.ts). */
const formPaths = [
  ...[
    '/sign-in/x',
    '/sign-in/x/account',
    '/sign-in/x/organization',
    '/sign-in/x/continue',
    '/sign-in/x/cancel',
    '/sign-in/x/passkey',
    '/sign-in/x/second-factor',
  ],
  ...['/set-up', '/password', '/password/', '/device', '/oauth/logout/confirm'],
]

const post = (url: string, headers: Record<string, string>, body = 'a=b') =>
  fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body,
  })

onEachStore('forms', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startSignInPlatform(engine)
  })
  after(() => platform.stop())

  test('for signing in and out cannot be opened by other sites in a frame or in the background', async () => {
    const paths = ['/oauth/authorize', '/oauth', '/oauth/logout', '/oauth/device', '/device']
    for (const path of paths) {
      for (const site of ['cross-site', 'same-site']) {
        const client = await rawClient(Number(new URL(platform.url).port))
        const isPost = path === '/oauth/device'
        const isRefused = async (mode: string, destination: string) => {
          const fetchHeaders = `sec-fetch-site: ${site}\r\nsec-fetch-mode: ${mode}\r\nsec-fetch-dest: ${destination}\r\n`
          const head = `host: localhost\r\n${fetchHeaders}content-length: 0\r\n`
          client.send(`${isPost ? 'POST' : 'GET'} ${path} HTTP/1.1\r\n${head}\r\n`)
          const { status, body, headers } = await client.response()
          if (!body.includes('only by opening it in a window')) return false
          assert.equal(status, isPost ? 400 : 403)
          assert.match(headers.get('content-type') ?? '', isPost ? /^application\/json/ : /^text\/html/)
          return true
        }
        assert.ok(await isRefused('no-cors', 'empty'), `${path} ${site}`)
        assert.ok(await isRefused('navigate', 'iframe'), `${path} ${site}`)
        assert.ok(!(await isRefused('navigate', 'document')), `${path} ${site}`)
        client.close()
      }
    }
  })

  test('are refused unless they come from our own pages', async () => {
    const { origin, port } = new URL(platform.url)
    const foreign = [
      ...['https://attacker.test', 'null', '', `${origin}.attacker.test`, origin.replace('http:', 'https:')],
      ...[`${origin}/`, `http://localhost:${port}`, `http://127.0.0.1:${Number(port) + 1}`],
    ]
    for (const path of formPaths) {
      for (const headers of [{}, ...foreign.map((sent) => ({ origin: sent }))]) {
        const answer = await post(platform.url + path, headers as Record<string, string>)
        const text = await answer.text()
        assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`)
        assert.match(text, /must be sent from a page of http:/)
        assert.equal(answer.headers.get('set-cookie'), null)
      }
      const fromOurPage = await post(platform.url + path, { origin })
      await fromOurPage.arrayBuffer()
      assert.notEqual(fromOurPage.status, 403, path)
    }
  })

  test('are sent with their origin, because the referrer policy of the pages does not hide it', async () => {
    for (const path of ['/device', '/sign-in/x', '/set-up?code=x', '/password?code=x']) {
      const answer = await fetch(platform.url + path)
      await answer.arrayBuffer()
      assert.equal(answer.headers.get('referrer-policy'), 'same-origin', path)
    }
  })

  test('that programs send may have any origin', async () => {
    for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/device']) {
      const answer = await post(platform.url + path, { origin: 'https://other.test' })
      assert.notEqual(answer.status, 403, path)
      await answer.arrayBuffer()
    }
  })
})

// On SQLite only, since the store has no part in cookies and headers.
describe('a server behind a proxy that terminates TLS', () => {
  let platform: Platform
  before(async () => {
    platform = await startSignInPlatform('sqlite', ['--base-url', 'https://stemma.test'])
    await addAccount(platform, ada)
  })
  after(() => platform.stop())

  /** A browser that keeps cookies. Its requests go to the server directly, as the proxy would forward them. */
  function openBrowser() {
    const cookies = new Map<string, string>()
    const setCookies: string[] = []
    return {
      setCookies,
      async go(url: string, form?: Record<string, string>): Promise<{ location: string; text: string }> {
        const target = new URL(url, 'https://stemma.test')
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const headers = { cookie, ...(form && { origin: 'https://stemma.test' }) }
        const body = form && new URLSearchParams(form)
        const answer = await fetch(platform.url + target.pathname + target.search, {
          ...{ redirect: 'manual', headers },
          ...(body && { method: 'POST', body }),
        })
        for (const line of answer.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
          if (value === '') cookies.delete(name)
          else {
            cookies.set(name, value)
            setCookies.push(line)
          }
        }
        return { location: answer.headers.get('location') ?? '', text: await answer.text() }
      },
    }
  }

  test('sets cookies that browsers accept only from this host and only over TLS', async () => {
    const { setCookies, go } = openBrowser()
    const start = await go('/oauth?exit=redirect&redirect=http://localhost:8085/callback')
    const page = await go(start.location)
    await go(page.location)
    const resume = await go(page.location, { email: ada, password })
    const finish = await go(resume.location)
    const end = await go(finish.location)
    assert.match(end.location, /^http:\/\/localhost:8085\/callback\?token=/, end.text)
    const named = (name: string) => setCookies.filter((line) => line.startsWith(`${name}=`))
    for (const name of ['__Host-stemma_session', '__Host-stemma_session.sig', '__Host-stemma_browser']) {
      assert.ok(named(name).length > 0, `${name}: ${setCookies.join('\n')}`)
      for (const line of named(name)) assert.match(line, /; path=\/(?:;|$)/i, line)
    }
    for (const line of setCookies) {
      assert.match(line, /^__(?:Host|Secure)-stemma_/, line)
      assert.match(line, /; secure/i, line)
      assert.match(line, /; httponly/i, line)
      assert.match(line, /; samesite=lax/i, line)
      assert.doesNotMatch(line, /; domain=/i, line)
    }
  })

  test('does not accept a cookie without the prefix __Host-, which another host could have set', async () => {
    const { go, setCookies } = openBrowser()
    const start = await go('/oauth?exit=redirect&redirect=http://localhost:8085/callback')
    const secret = /^__Host-stemma_browser=([\w-]+)/.exec(setCookies[0] ?? '')?.[1] ?? ''
    const state = new URL(start.location).searchParams.get('state') ?? ''
    const url = `${platform.url}/oauth/finish?state=${encodeURIComponent(state)}&error=x`
    const finish = async (cookie: string) => {
      const answer = await fetch(url, { redirect: 'manual', headers: { cookie } })
      await answer.arrayBuffer()
      return answer.status
    }
    assert.equal(await finish(`__Host-stemma_browser=${secret}`), 303)
    assert.equal(await finish(`stemma_browser=${secret}`), 400)
  })

  test('sends Strict-Transport-Security with every response', async () => {
    const { port } = platform.app
    for (const path of ['/healthz', '/iam/v2beta1/groups', '/nowhere', '/device', '/docs']) {
      const answer = await fetch(platform.url + path)
      await answer.arrayBuffer()
      assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000', path)
    }
    const client = await rawClient(port)
    client.send('no HTTP\r\n\r\n')
    assert.ok((await client.response()).headers.has('strict-transport-security'))
    client.close()
  })
})

describe('a server whose clients use http', () => {
  test('does not send Strict-Transport-Security', async () => {
    const platform = await startSignInPlatform('sqlite')
    try {
      for (const path of ['/healthz', '/iam/v2beta1/groups', '/device']) {
        const answer = await fetch(platform.url + path)
        await answer.arrayBuffer()
        assert.equal(answer.headers.has('strict-transport-security'), false, path)
      }
    } finally {
      await platform.stop()
    }
  })
})
