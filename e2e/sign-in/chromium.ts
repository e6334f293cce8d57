// A real Chromium from npm (@sparticuz/chromium), for machines that have only Node. It runs with its own libraries and
// fonts and without flags that weaken its security.
import { execFile } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { chromium } from 'playwright-core'

/** Long enough for slow machines. */
const timeoutMs = { unpack: 240_000, launch: 120_000, step: 60_000 }
/** The libraries of the package need at least this minor version of glibc 2. */
const minGlibcMinor = 34

const cache = join(import.meta.dirname, '../../node_modules/.cache')

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
  const program = await unpackedProgram()
  const home = await mkdtemp(join(tmpdir(), 'stemma-chromium-'))
  const removeHome = removeAtExit(home)
  const browser = await chromium.launch({
    executablePath: join(program, 'chromium'),
    env: {
      HOME: home,
      TMPDIR: home,
      LD_LIBRARY_PATH: join(program, 'al2023/lib'),
      FONTCONFIG_FILE: join(program, 'fonts.conf'),
    },
    timeout: timeoutMs.launch,
  })
  return browser.once('disconnected', removeHome)
}

/**
 * Removes a folder when the returned function is called or this process exits. An interrupt while a
 * browser runs also ends in an exit, because Playwright handles the signal.
 */
function removeAtExit(folder: string): () => void {
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  return remove
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

/** The folder of the unpacked browser. Unpacking takes 3 seconds of CPU time, so the folder stays for other tests. */
async function unpackedProgram(): Promise<string> {
  const manifest = await readFile(
    new URL('../package.json', import.meta.resolve('@sparticuz/chromium')),
    'utf8',
  )
  const folder = join(cache, `chromium-${JSON.parse(manifest).version}`)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const incomplete = await mkdtemp(join(cache, 'chromium-incomplete-'))
  const removeIncomplete = removeAtExit(incomplete)
  await unpack(incomplete)
  // The folder appears when it is complete. Another process may have unpacked it meanwhile.
  await rename(incomplete, folder).catch((error) => {
    if (!existsSync(folder)) throw error
    removeIncomplete()
  })
  return folder
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
