// Records everything that must not happen on a page.
import type { Page } from 'playwright-core'

export function watchProblems(page: Page, url: string, problems: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== new URL(url).origin)
      problems.push(`requests ${request.url()}`)
  })
}
