// A real Chromium from npm (@sparticuz/chromium), for machines that have only Node. It runs with its own libraries and
// fonts and without flags that weaken its security.
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { chromium } from 'playwright-core'

/** Long enough for slow machines. */
const timeoutMs = { unpack: 240_000, launch: 120_000, step: 60_000 }
/** The libraries of the package need at least this minor version of glibc 2. */
const minGlibcMinor = 34

/** The reason why the browser cannot run on this machine, if there is one. */
export const noChromium: string | undefined = reasonNotToRun()

function reasonNotToRun(): string | undefined {
  const machine = `${process.platform}-${process.arch}`
  if (machine !== 'linux-x64') return `@sparticuz/chromium has no browser for ${machine}`
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  const version = header.glibcVersionRuntime ?? 'none'
  const isNewEnough = Number(version.split('.')[1]) >= minGlibcMinor
  return isNewEnough ? undefined : `Chromium needs glibc 2.${minGlibcMinor}, and this machine has ${version}`
}

/** The caller must close the browser, because an open browser keeps the process alive. */
export async function openChromium(): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-chromium-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  // Also runs when the test run is interrupted.
  process.once('exit', removeFolder)
  await unpack(folder)
  const browser = await chromium.launch({
    executablePath: join(folder, 'chromium'),
    env: {
      HOME: folder,
      TMPDIR: folder,
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
    timeout: timeoutMs.launch,
  })
  return browser.once('disconnected', removeFolder)
}

/** A browser context without cookies and, by default, without scripts. */
export async function newBrowserContext(
  browser: Browser,
  options: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options })
  context.setDefaultTimeout(timeoutMs.step)
  return context
}

const unpackJs = 'import(process.argv[1]).then(({ default: chromium }) => chromium.executablePath())'

/**
 * The package unpacks into the temporary folder of its process, and unpacks its libraries only in AWS Lambda. So
 * the package runs in a child process whose environment looks like Lambda.
 */
async function unpack(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, ['-e', unpackJs, import.meta.resolve('@sparticuz/chromium')], {
    env: { TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    timeout: timeoutMs.unpack,
  })
  // The package's own font configuration names folders of Lambda. Chromium crashes without any font.
  await writeFile(join(folder, 'fonts.conf'), fonts)
}

const fonts = `<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`
