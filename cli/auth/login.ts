// `stemma auth login`: by browser, by a browser elsewhere, or with a token of an identity's own issuer.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Context } from '../context.ts'
import { readContext, saveContext } from '../context.ts'
import { contextOptions, flagsOf } from '../flags.ts'
import { oneLine } from '../one-line.ts'
import { UsageError } from '../usage.ts'
import { signInByBrowser } from './browser-login.ts'
import { signInByDevice } from './device-login.ts'
import { openBrowser } from './open-browser.ts'
import type { SignedIn, Wishes } from './provider.ts'
import { exchange, keepTokens } from './tokens.ts'

const words = { type: 'string' } as const
const yes = { type: 'boolean' } as const

const readFlags = (args: string[]) =>
  flagsOf(args, {
    ...contextOptions,
    identity: words,
    'identity-token': words,
    device: yes,
    'no-browser': yes,
    invite: words,
    'identity-provider': words,
    'login-hint': words,
  })

type Flags = ReturnType<typeof readFlags>

export async function login(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const flags = readFlags(args)
  const context = await readContext(flags, env)
  requireOneWay(flags, context)
  const { tokens, who } = await signIn(context, flags, env)
  await keepTokens(context.audience, tokens, env)
  await saveContext(context, env)
  say(`Signed in to ${context.api} as ${who}.`)
}

const ofPeople = ['device', 'no-browser', 'invite', 'identity-provider', 'login-hint'] as const

function requireOneWay(flags: Flags, { api, audience }: Context): void {
  if (flags.identity === undefined) {
    if (flags['identity-token'] !== undefined)
      throw new UsageError('--identity-token needs --identity UID: whom to sign in as')
    if (audience !== api)
      throw new UsageError(
        '--audience needs --identity here; sign in without it, then: stemma auth token --audience AUD',
      )
    return
  }
  const other = ofPeople.find((name) => flags[name] !== undefined)
  if (other) throw new UsageError(`--identity and --${other} are two ways to sign in; choose one`)
  if (flags['identity-token'] === undefined)
    throw new UsageError('--identity needs --identity-token FILE|-: a token of its own issuer')
}

async function signIn(context: Context, flags: Flags, env: NodeJS.ProcessEnv): Promise<SignedIn> {
  const { identity, 'identity-token': from } = flags
  if (identity !== undefined && from !== undefined)
    return { tokens: await exchange(context, await readToken(from), identity), who: identity }
  const wishes = wishesOf(flags)
  if (flags.device)
    return signInByDevice(context.issuer, wishes, ({ address, code, complete }) => {
      say(`Open this address on any machine: ${address}`)
      say(`and enter the code: ${code}`)
      if (complete !== undefined) say(`Or open this one, and compare the code: ${complete}`)
    })
  return signInByBrowser(context.issuer, wishes, (address) => {
    say(`Open this address to sign in: ${address.href}`)
    if (!flags['no-browser']) openBrowser(address, env)
  })
}

const wishesOf = (flags: Flags): Wishes => ({
  ...(flags.invite !== undefined && { invite: flags.invite }),
  ...(flags['identity-provider'] !== undefined && { idp_id: flags['identity-provider'] }),
  ...(flags['login-hint'] !== undefined && { login_hint: flags['login-hint'] }),
})

async function readToken(from: string): Promise<string> {
  const token = from === '-' ? await text(process.stdin) : await readFile(from, 'utf8').catch(unreadable)
  if (token.trim() === '') throw new UsageError('--identity-token holds nothing')
  return token.trim()
}

function unreadable(error: NodeJS.ErrnoException): never {
  throw new UsageError(`--identity-token: ${error.message}`)
}

const say = (line: string): void => void process.stderr.write(`${oneLine(line)}\n`)
