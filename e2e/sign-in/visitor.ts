// A browser without scripts: keeps cookies, follows redirects and fills in forms. It does not
// follow a redirect to an unknown server, but returns an empty page with the URL of the redirect.
import assert from 'node:assert/strict'

export type Form = { action: string; method: string; fields: Record<string, string> }

export type Page = {
  url: string
  status: number
  headers: Headers
  text: string
  /** The forms in page order, with the values of their fields, without buttons. */
  forms: Form[]
  /** The error message of the page. */
  alert: string | undefined
  title: string
}

export type Cookie = { name: string; value: string; path: string }

const maxRedirects = 15

export class Visitor {
  readonly #home: string
  readonly #knownOrigins: Set<string>
  #cookies: Cookie[] = []
  /** The IP address of the browser that a proxy reports in X-Forwarded-For; empty without a proxy. */
  address = ''

  /** Relative URLs are resolved against `home`. Only redirects to the servers of these URLs are followed. */
  constructor(home: string, ...others: string[]) {
    this.#home = new URL(home).origin
    this.#knownOrigins = new Set([home, ...others].map((url) => new URL(url).origin))
  }

  open(url: string): Promise<Page> {
    return this.#load(new URL(url, this.#home).href, {})
  }

  /** Submits a form of a page with these values. */
  submit(page: Page, values: Record<string, string>, index = 0): Promise<Page> {
    const form = page.forms[index]
    assert.ok(form, `${page.url} has no form ${index}: ${page.text}`)
    const body = new URLSearchParams({ ...form.fields, ...values })
    const action = new URL(form.action, page.url)
    if (form.method === 'get') {
      action.search = body.toString()
      return this.#load(action.href, {})
    }
    return this.#load(action.href, { method: 'POST', body })
  }

  /** Submits the form whose action ends with this path. */
  submitTo(page: Page, ending: string, values: Record<string, string> = {}): Promise<Page> {
    const index = page.forms.findIndex(({ action }) => action.endsWith(ending))
    return this.submit(page, values, index)
  }

  /** Sends a form that no page offers. */
  post(url: string, values: Record<string, string>): Promise<Page> {
    return this.#load(url, { method: 'POST', body: new URLSearchParams(values) })
  }

  /** Like `submitTo`, but returns the URL that the response redirects to, without following it. */
  async submitOnly(page: Page, ending: string, values: Record<string, string> = {}): Promise<string> {
    const form = page.forms.find(({ action }) => action.endsWith(ending))
    const body = new URLSearchParams({ ...form?.fields, ...values })
    return this.redirectOf(new URL(form?.action ?? '', page.url).href, { method: 'POST', body })
  }

  /** Sends one request and returns the URL that the response redirects to, without following it. */
  async redirectOf(url: string, init: RequestInit = {}): Promise<string> {
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: this.#headersFor(url, init) })
    this.#storeCookies(answer.headers)
    await answer.text()
    return answer.headers.get('location') ?? ''
  }

  cookie(name: string): string | undefined {
    return this.#cookies.find((cookie) => cookie.name === name)?.value
  }

  /** The cookie of this name that is sent to a URL. */
  cookieFor(name: string, url: string): Cookie | undefined {
    return this.#cookiesFor(url).find((cookie) => cookie.name === name)
  }

  /** A copy of all cookies. */
  copyCookies(): Cookie[] {
    return this.#cookies.map((cookie) => ({ ...cookie }))
  }

  /** Replaces all cookies, as somebody who copied them could. */
  useCookies(cookies: Cookie[]): void {
    this.#cookies = cookies.map((cookie) => ({ ...cookie }))
  }

  #cookiesFor(url: string): Cookie[] {
    const { pathname } = new URL(url)
    return this.#cookies.filter(
      ({ path }) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
    )
  }

  async #load(startUrl: string, init: RequestInit): Promise<Page> {
    let url = startUrl
    let next = init
    for (let count = 0; count < maxRedirects; count++) {
      if (!this.#knownOrigins.has(new URL(url).origin)) return pageOf(url, 0, new Headers(), '')
      const answer = await fetch(url, { ...next, redirect: 'manual', headers: this.#headersFor(url, next) })
      this.#storeCookies(answer.headers)
      const text = await answer.text()
      const location = answer.headers.get('location')
      if (location === null) return pageOf(url, answer.status, answer.headers, text)
      url = new URL(location, url).href
      next = {}
    }
    throw new Error(`too many redirects, the last to ${url}`)
  }

  /** Forms are posted to the server that served their page, so `Origin` is the origin of the URL. */
  #headersFor(url: string, { method = 'GET' }: RequestInit): Record<string, string> {
    const sent = this.#cookiesFor(url)
    return {
      ...(method === 'POST' && { origin: new URL(url).origin }),
      ...{ accept: 'text/html', cookie: sent.map(({ name, value }) => `${name}=${value}`).join('; ') },
      ...(this.address !== '' && { 'x-forwarded-for': this.address }),
    }
  }

  #storeCookies(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/; */)
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/'
      const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8)
      this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path)
      if (value !== '' && !(expires && Date.parse(expires) < Date.now()))
        this.#cookies.push({ name, value, path })
    }
  }
}

function pageOf(url: string, status: number, headers: Headers, text: string): Page {
  const forms = [...text.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, attributes = '', body = '']) => ({
    action: attributeOf(attributes, 'action') ?? '',
    method: attributeOf(attributes, 'method') ?? 'get',
    fields: Object.fromEntries(
      [...body.matchAll(/<input([^>]*)>/gs)].flatMap(([, input = '']) => {
        const name = attributeOf(input, 'name')
        return name === undefined ? [] : [[name, attributeOf(input, 'value') ?? '']]
      }),
    ),
  }))
  const alert = /<p role="alert"[^>]*>(.*?)<\/p>/s.exec(text)?.[1]
  const title = /<h1>(.*?)<\/h1>/s.exec(text)?.[1] ?? ''
  return { url, status, headers, text, forms, alert, title }
}

const attributeOf = (attributes: string, name: string) =>
  new RegExp(`\\b${name}="([^"]*)"`)
    .exec(attributes)?.[1]
    ?.replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
