// A real browser from npm: the one that @sparticuz/chromium carries for machines with nothing but Node. It runs
// with its own libraries and fonts, no scripts, and all else as people have it: no switch makes it more lenient.
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { chromium } from 'playwright-core'

const patience = { unpack: 60_000, launch: 30_000, step: 10_000 }
/** Of 2.x: what the libraries of the package were linked with. */
const oldestGlibc = 34

/** Why there is no browser for this machine; undefined where there is one. */
export const noChromium: string | undefined = reasonAgainst()

function reasonAgainst(): string | undefined {
  const machine = `${process.platform}-${process.arch}`
  if (machine !== 'linux-x64') return `@sparticuz/chromium has no browser for ${machine}`
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  const found = header.glibcVersionRuntime ?? 'none'
  const isNewEnough = Number(found.split('.')[1]) >= oldestGlibc
  return isNewEnough ? undefined : `Chromium needs glibc 2.${oldestGlibc}, and this machine has ${found}`
}

/** Whoever opens it closes it: while it runs, so does the process that started it. */
export async function openChromium(): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-chromium-'))
  const clear = () => rmSync(folder, { recursive: true, force: true })
  // A run that is interrupted comes by here as well.
  process.once('exit', clear)
  await unpack(folder)
  const browser = await chromium.launch({
    executablePath: join(folder, 'chromium'),
    env: {
      HOME: folder,
      TMPDIR: folder,
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
    timeout: patience.launch,
  })
  return browser.once('disconnected', clear)
}

/** A person's browser with nothing in it. */
export async function newVisitor(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options })
  context.setDefaultTimeout(patience.step)
  return context
}

const unpacking = 'import(process.argv[1]).then(({ default: chromium }) => chromium.executablePath())'

/**
 * The package unpacks to the temporary folder of its process, and its libraries only where it believes to be in
 * AWS Lambda; so it gets a process of its own that believes so.
 */
async function unpack(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, ['-e', unpacking, import.meta.resolve('@sparticuz/chromium')], {
    env: { TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    timeout: patience.unpack,
  })
  // Its own names folders of Lambda. Chromium crashes at the first letter if there is no font at all.
  await writeFile(join(folder, 'fonts.conf'), fonts)
}

const fonts = `<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`
