// `stemma auth`: sign in, print a token, say who one is, sign out.
import { call } from '../call.ts'
import type { Context } from '../context.ts'
import { readContext } from '../context.ts'
import { contextOptions, flagsOf } from '../flags.ts'
import { UsageError } from '../usage.ts'
import { authHelp } from './help.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { liveToken } from './tokens.ts'

export async function runAuth([command = '', ...args]: string[], env: NodeJS.ProcessEnv): Promise<void> {
  if (['', 'help', '--help', '-h'].includes(command) || args.includes('--help')) return print(authHelp)
  if (command === 'login') return login(args, env)
  const commands: Record<string, (context: Context) => Promise<void>> = {
    token: async (context) => print(await liveToken(context, env)),
    status: (context) => status(context, env),
    logout: (context) => logout(context, env),
  }
  const run = Object.hasOwn(commands, command) ? commands[command] : undefined
  if (!run)
    throw new UsageError(`stemma auth has no command ${JSON.stringify(command)}; see stemma auth --help`)
  await run(await readContext(flagsOf(args, contextOptions), env))
}

type WhoAmI = {
  subject: string
  email?: string
  expiry: string
  capabilities: { group: { id: string; name: string }; role?: { name: string }; capabilities: string[] }[]
}

async function status(context: Context, env: NodeJS.ProcessEnv): Promise<void> {
  const token = env.STEMMA_TOKEN || (await liveToken(context, env))
  const me = await call<WhoAmI>(`${context.api}/auth/v1/ok`, token)
  const left = Math.round((Date.parse(me.expiry) - Date.now()) / 60_000)
  print(`${context.api}\n${me.email ?? me.subject}, for ${left} more minutes`)
  for (const { group, role, capabilities } of me.capabilities)
    print(`  ${role?.name ?? capabilities.join(', ')} in ${group.name} (${group.id})`)
}

const print = (words: string): void => void process.stdout.write(`${words}\n`)
