import { eraseLogin } from '../credential-helper/stored-logins.ts'
import { parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { editDockerConfig, helperOf, readDockerConfig } from './docker-config.ts'
import { removeAt } from './json-text.ts'
import { fileOptions, readTarget } from './options.ts'
import { callHelper } from './other-helper.ts'

/** `stemma registry logout`: removes everything that the other commands have stored for the registry. */
export async function logout(args: string[], runtime: Runtime): Promise<void> {
  const { host, file } = await readTarget(parseFlags(args, fileOptions), runtime)
  const config = await readDockerConfig(file)
  const helper = helperOf(config, host)
  const hasPassword = Object.hasOwn(config.auths ?? {}, host)
  await eraseLogin(host, runtime)
  if (helper !== undefined && helper !== 'stemma' && hasPassword)
    await callHelper(helper, 'erase', host, runtime.env)
  await editDockerConfig(file, runtime, (text) => {
    const withoutPassword = removeAt(text, ['auths', host])
    return config.credHelpers?.[host] === 'stemma'
      ? removeAt(withoutPassword, ['credHelpers', host])
      : withoutPassword
  })
  report(runtime, `Removed ${host} from ${file}. The sign-in is kept; stemma auth logout ends it.`)
}
