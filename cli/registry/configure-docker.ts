import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { Context } from '../context.ts'
import { UsageError } from '../failure.ts'
import { parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { readTokens } from '../token-store.ts'
import { editDockerConfig, readDockerConfig } from './docker-config.ts'
import { setAt } from './json-text.ts'
import { configureOptions, pullTokenFlags, readTarget } from './options.ts'

const helper = 'docker-credential-stemma'

/** `stemma registry configure-docker`: makes docker get its tokens from the sign-in. */
export async function configureDocker(args: string[], runtime: Runtime): Promise<void> {
  const flags = parseFlags(args, configureOptions)
  const target = await readTarget(flags, runtime)
  // Imported when needed: it loads the whole contract.
  if (flags['pull-token']) return (await import('./pull-token.ts')).configurePullToken(flags, target, runtime)
  const unused = [...pullTokenFlags, 'save' as const].find((name) => flags[name] !== undefined)
  if (unused) throw new UsageError(`--${unused} requires --pull-token`)
  const { context, host, file } = target
  if (!(await isOnPath(helper, runtime.env)))
    throw new UsageError(
      `docker could not start ${helper}, because it is not on the PATH; install it with npm install --global @stemma/cli, or use stemma registry login`,
    )
  if (flags['dry-run']) {
    const { credHelpers = {} } = await readDockerConfig(file)
    const verb = credHelpers[host] === 'stemma' ? 'has' : 'would get'
    return report(runtime, `${file} ${verb} "credHelpers": { ${JSON.stringify(host)}: "stemma" }`)
  }
  await editDockerConfig(file, runtime, (text) => setAt(text, ['credHelpers', host], 'stemma'))
  report(runtime, `${file} names ${helper} for ${host}: docker now gets its tokens from your sign-in.`)
  if (!(await isSignedIn(context, runtime)))
    report(runtime, `You are not signed in yet; run: stemma auth login --api ${context.api}`)
}

async function isSignedIn(context: Context, runtime: Runtime): Promise<boolean> {
  const { access: token, refresh } = await readTokens(context, runtime)
  return token !== undefined || refresh !== undefined || Boolean(runtime.env.STEMMA_TOKEN)
}

async function isOnPath(program: string, { PATH = '' }: NodeJS.ProcessEnv): Promise<boolean> {
  // On Windows, npm installs a script whose name ends with .cmd.
  const name = process.platform === 'win32' ? `${program}.cmd` : program
  for (const folder of PATH.split(delimiter).filter(Boolean))
    if (
      await access(join(folder, name), constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return true
  return false
}
