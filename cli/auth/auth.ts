// `stemma auth`: dispatches to login, token, status and logout.
import type { Context } from '../context.ts'
import { readContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { contextOptions, parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { currentAccessToken } from './access-token.ts'
import { authHelp } from './help.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { printStatus } from './status.ts'

const commands: Record<string, (context: Context, runtime: Runtime) => Promise<void>> = {
  token: async (context, runtime) =>
    void runtime.stdout.write(`${await currentAccessToken(context, runtime)}\n`),
  status: printStatus,
  logout,
}

export async function runAuth([name = '', ...args]: string[], runtime: Runtime): Promise<void> {
  if (['', 'help', '--help', '-h'].includes(name) || args.some((arg) => ['--help', '-h'].includes(arg))) {
    runtime.stdout.write(`${authHelp}\n`)
    return
  }
  if (name === 'login') return login(args, runtime)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command)
    throw new UsageError(`stemma auth has no command ${JSON.stringify(name)}; see stemma auth --help`)
  await command(await readContext(parseFlags(args, contextOptions), runtime.env), runtime)
}
