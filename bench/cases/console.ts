// The web console: bytes of the first load, and the time from navigation to a usable page in Chromium, in an
// organization with 1000 groups and in one with 100,000.
import { randomBytes } from 'node:crypto'
import { bundleConsole } from '@stemma/console/build/build.ts'
import { firstLoadOf } from '@stemma/console/build/first-load.ts'
import { paths } from '@stemma/console/paths.ts'
import type { Browser } from 'playwright-core'
import { freePort } from '../../api/testing/free-port.ts'
import { noChromium, openChromium } from '../../e2e/sign-in/chromium.ts'
import { openExpiringStates } from '../../server/auth/login/expiring-states.ts'
import { newSignInTime } from '../../server/auth/sign-outs.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import { startStemmad } from '../load/processes.ts'
import { median } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import { plainLine } from '../report/report.ts'
import type { HugeStore } from '../stores/huge.ts'
import { hugeStore } from '../stores/huge.ts'

/** In bytes, compressed by gzip. */
const maxScript = 60_000
const maxStyle = 15_000
const rounds = 5
const smallCount = 1000
const largeCount = 100_000
/** A view of the large organization may take this many times as long as that of the small one. */
const maxRatio = 2

export async function benchConsole(): Promise<Line[]> {
  const { script, style } = firstLoadOf(await bundleConsole())
  const lines = [
    sizeLine('Console, first load, script', script, maxScript),
    sizeLine('Console, first load, style', style, maxStyle),
  ]
  if (noChromium) return [...lines, plainLine('Console in a browser', noChromium)]
  const browser = await openChromium()
  try {
    const small = await hugeStore(smallCount)
    return [...lines, ...(await compare(browser, small, await hugeStore(largeCount)))]
  } finally {
    await browser.close()
  }
}

const sizeLine = (label: string, bytes: number, max: number): Line => ({
  ...{ label, measured: `${(bytes / 1000).toFixed(1)} kB`, baseline: '', ratio: '' },
  ...{ goal: `${max / 1000} kB`, isMet: bytes <= max },
})

async function compare(browser: Browser, small: HugeStore, large: HugeStore): Promise<Line[]> {
  await using servers = new AsyncDisposableStack()
  const served = [await serve(small, servers), await serve(large, servers)] as const
  const views: [label: string, pathOf: (organization: string) => string, ready: string][] = [
    ['Console, navigation to usable overview', paths.group, 'main .counts'],
    ['Console, navigation to usable tree', paths.groups, '[role=treeitem][aria-level="2"]'],
  ]
  const lines: Line[] = []
  for (const [label, pathOf, ready] of views) {
    const [baseline, measured] = [
      await timeOf(browser, served[0], pathOf, ready),
      await timeOf(browser, served[1], pathOf, ready),
    ]
    const ratio = measured / baseline
    lines.push({
      ...{ label: `${label}, 100,000 groups`, measured: `${measured.toFixed(0)} ms` },
      ...{ baseline: `${baseline.toFixed(0)} ms`, ratio: ratio.toFixed(2), goal: `≤ ${maxRatio}` },
      isMet: ratio <= maxRatio,
    })
  }
  return lines
}

type Served = HugeStore & { url: string; cookie: string }

/** Starts a server on the store, with a console session for the identity of the store. */
async function serve(huge: HugeStore, servers: AsyncDisposableStack): Promise<Served> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const dataDirFlag = huge.settings.slice(0, 2) // without the base URL
  const settings = [...dataDirFlag, '--port', String(port), '--base-url', url]
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  const { secret } = await prepareStore(config, store)
  const states = openExpiringStates({ secret, now: Date.now })
  const [cookie, person] = [randomBytes(32).toString('base64url'), huge.identity]
  await store.write(function* () {
    const signIn = { person, signedInAt: yield* newSignInTime(person, Date.now()), id: '' }
    yield* states.put('ConsoleSession', cookie, { signIn }, 3600, { identity: person })
  })
  await store.close()
  servers.use(await startStemmad(settings, port))
  return { ...huge, url, cookie }
}

/** The median time until an element of the page is there, in milliseconds. The browser has nothing in its cache. */
async function timeOf(
  browser: Browser,
  { url, cookie, organization }: Served,
  pathOf: (organization: string) => string,
  ready: string,
): Promise<number> {
  const times: number[] = []
  // The first navigation bundles the console, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    const context = await browser.newContext()
    await context.addCookies([{ name: 'stemma-console', value: cookie, url }])
    const page = await context.newPage()
    const started = performance.now()
    await page.goto(url + pathOf(organization), { waitUntil: 'commit' })
    await page.locator(ready).first().waitFor()
    if (round > 0) times.push(performance.now() - started)
    await context.close()
  }
  return median(times)
}
