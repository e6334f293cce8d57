// `stemma auth login`: with the browser of this machine, with a browser on another machine, or as a workload with a
// token of its own issuer.
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { Context } from '../context.ts'
import { readContext, saveContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { contextOptions, parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { exchangeToken, saveSignIn } from './access-token.ts'
import { signInWithBrowser } from './browser-login.ts'
import { signInWithDevice } from './device-login.ts'
import { loginFlags } from './login-flags.ts'
import type { SignInParameters, SignInResult } from './oidc-client.ts'
import { openBrowser } from './open-browser.ts'

const parseLoginFlags = (args: string[]) => parseFlags(args, { ...contextOptions, ...loginFlags })

type Flags = ReturnType<typeof parseLoginFlags>

export async function login(args: string[], runtime: Runtime): Promise<void> {
  const flags = parseLoginFlags(args)
  const context = await readContext(flags, runtime.env)
  requireConsistent(flags, context)
  const { tokens, name } = await signIn(context, flags, runtime)
  await saveSignIn(context, tokens, runtime)
  await saveContext(context, runtime)
  reportLine(runtime, `Signed in to ${context.api} as ${name}.`)
}

const interactiveFlags = [
  'device',
  'no-browser',
  'invite',
  'identity-provider',
  'login-hint',
  'again',
] as const

function requireConsistent(flags: Flags, { api, audience }: Context): void {
  if (flags.identity === undefined) {
    if (flags['identity-token'] !== undefined)
      throw new UsageError('--identity-token requires --identity UID, the identity to sign in as')
    if (audience !== api)
      throw new UsageError(
        '--audience requires --identity; to sign in as a person, omit --audience, then run: stemma auth token --audience AUD',
      )
    return
  }
  const conflicting = interactiveFlags.find((name) => flags[name] !== undefined)
  if (conflicting) throw new UsageError(`--identity and --${conflicting} cannot be used together`)
  if (flags['identity-token'] === undefined)
    throw new UsageError('--identity requires --identity-token FILE|-, a token of the workload’s own issuer')
}

async function signIn(context: Context, flags: Flags, runtime: Runtime): Promise<SignInResult> {
  const { identity, 'identity-token': source } = flags
  if (identity !== undefined && source !== undefined) {
    const token = await readIdentityToken(source, runtime)
    return { tokens: await exchangeToken(context, token, identity), name: identity }
  }
  const parameters = parametersOf(flags)
  if (flags.device)
    return signInWithDevice(context.issuer, parameters, ({ url, code, urlWithCode }) => {
      reportLine(runtime, `Open this address on any machine: ${url}`)
      reportLine(runtime, `and enter the code: ${code}`)
      if (urlWithCode !== undefined)
        reportLine(runtime, `Or open this address, and check that it shows the same code: ${urlWithCode}`)
    })
  return signInWithBrowser(context.issuer, parameters, (url) => {
    reportLine(runtime, `Open this address to sign in: ${url.href}`)
    if (!flags['no-browser']) openBrowser(url, runtime)
  })
}

const parametersOf = (flags: Flags): SignInParameters => ({
  ...(flags.invite !== undefined && { invite: flags.invite }),
  ...(flags['identity-provider'] !== undefined && { idp_id: flags['identity-provider'] }),
  ...(flags['login-hint'] !== undefined && { login_hint: flags['login-hint'] }),
  ...(flags.again && { prompt: 'login consent' }),
})

async function readIdentityToken(source: string, { stdin }: Runtime): Promise<string> {
  const content = source === '-' ? await readAll(stdin) : await readFile(source, 'utf8').catch(unreadable)
  if (content.trim() === '') throw new UsageError('--identity-token is empty')
  return content.trim()
}

function unreadable(error: NodeJS.ErrnoException): never {
  throw new UsageError(`--identity-token: ${error.message}`)
}

const reportLine = (runtime: Runtime, line: string): void => report(runtime, singleLine(line))
