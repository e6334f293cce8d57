// `stemma auth`: sign in, print a token, say who one is, sign out.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { call } from '../call.ts'
import type { Context } from '../context.ts'
import { readContext, saveContext } from '../context.ts'
import { removeTokens, saveTokens } from '../token-store.ts'
import { UsageError } from '../usage.ts'
import { exchange, liveToken } from './tokens.ts'

export const authHelp = `Usage: stemma auth <command> [flags]

  login --identity UID --identity-token FILE|-   assume an identity with a token of its own issuer
  token                                          print an access token, refreshed if need be
  status                                         who you are, and what you hold where
  logout                                         forget the tokens

  --api URL        the server (STEMMA_API, or the current context; http://localhost:8080)
  --issuer URL     its token issuer (STEMMA_ISSUER; the same as --api)
  --audience AUD   whom the token is for (the same as --api)
  --context NAME   a name for the server; login saves it (STEMMA_CONTEXT)

In a CI job:

  echo "$ID_TOKEN" | stemma auth login --api https://stemma.example.com --identity UID --identity-token -
  curl -H "Authorization: Bearer $(stemma auth token)" https://stemma.example.com/iam/v2beta1/groups`

type Flags = ReturnType<typeof flagsOf>

export async function runAuth([command = '', ...args]: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const commands: Record<string, (context: Context, flags: Flags) => Promise<void>> = {
    login: (context, flags) => login(context, flags, env),
    token: async (context) => print(await liveToken(context, env)),
    status: (context) => status(context, env),
    logout: async (context) => {
      await removeTokens(context.audience, env)
      process.stderr.write(`Signed out of ${context.api}.\n`)
    },
  }
  const run = Object.hasOwn(commands, command) ? commands[command] : undefined
  if (['', 'help', '--help', '-h'].includes(command) || args.includes('--help')) return print(authHelp)
  if (!run)
    throw new UsageError(`stemma auth has no command ${JSON.stringify(command)}; see stemma auth --help`)
  const flags = flagsOf(args)
  await run(await readContext(flags, env), flags)
}

function flagsOf(args: string[]) {
  const text = { type: 'string' } as const
  try {
    const options = {
      ...{ api: text, issuer: text, audience: text, context: text },
      ...{ identity: text, 'identity-token': text },
    }
    return parseArgs({ args, options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function login(context: Context, flags: Flags, env: NodeJS.ProcessEnv): Promise<void> {
  const { identity, 'identity-token': from } = flags
  if (identity === undefined || from === undefined)
    throw new UsageError('say whom to sign in as: stemma auth login --identity UID --identity-token FILE|-')
  const token = (
    from === '-' ? await text(process.stdin) : await readFile(from, 'utf8').catch(unreadable)
  ).trim()
  if (token === '') throw new UsageError('--identity-token holds nothing')
  await saveTokens(context.audience, await exchange(context, identity, token), env)
  await saveContext(context, env)
  process.stderr.write(`Signed in to ${context.api} as ${identity}.\n`)
}

function unreadable(error: NodeJS.ErrnoException): never {
  throw new UsageError(`--identity-token: ${error.message}`)
}

type WhoAmI = {
  subject: string
  email?: string
  expiry: string
  capabilities: { group: { id: string; name: string }; role?: { name: string }; capabilities: string[] }[]
}

async function status(context: Context, env: NodeJS.ProcessEnv): Promise<void> {
  const me = await call<WhoAmI>(`${context.api}/auth/v1/ok`, await liveToken(context, env))
  const left = Math.round((Date.parse(me.expiry) - Date.now()) / 60_000)
  print(`${context.api}\n${me.email ?? me.subject}, for ${left} more minutes`)
  for (const { group, role, capabilities } of me.capabilities)
    print(`  ${role?.name ?? capabilities.join(', ')} in ${group.name} (${group.id})`)
}

const print = (words: string): void => void process.stdout.write(`${words}\n`)
