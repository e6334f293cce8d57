// `stemma registry`: dispatches to configure-docker, login and logout.
import { UsageError } from '../failure.ts'
import type { Runtime } from '../runtime.ts'
import { configureDocker } from './configure-docker.ts'
import { registryHelp } from './help.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'

const commands: Record<string, (args: string[], runtime: Runtime) => Promise<void>> = {
  'configure-docker': configureDocker,
  login,
  logout,
}

export async function runRegistry([name = '', ...args]: string[], runtime: Runtime): Promise<void> {
  if (['', 'help', '--help', '-h'].includes(name) || args.includes('--help') || args.includes('-h')) {
    runtime.stdout.write(`${registryHelp}\n`)
    return
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command)
    throw new UsageError(
      `stemma registry has no command ${JSON.stringify(name)}; it has ${Object.keys(commands).join(', ')}`,
    )
  await command(args, runtime)
}
