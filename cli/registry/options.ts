import type { Context } from '../context.ts'
import { readContext } from '../context.ts'
import { contextOptions, type parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { dockerConfigFile } from './docker-config.ts'
import { registryHost } from './registry-host.ts'

const text = { type: 'string' } as const
const toggle = { type: 'boolean' } as const

export const fileOptions = { ...contextOptions, authfile: text } as const

/** Flags that `stemma pull-tokens create` has, too. */
export const pullTokenFlags = ['parent', 'name', 'ttl', 'repo'] as const

export const configureOptions = {
  ...{ ...fileOptions, 'dry-run': toggle, 'pull-token': toggle, save: toggle },
  ...{ parent: text, name: text, ttl: text, repo: text },
} as const

export type ConfigureFlags = ReturnType<typeof parseFlags<typeof configureOptions>>

/** The registry and the file that a command is about. */
export type Target = { context: Context; host: string; file: string }

export async function readTarget(
  flags: ReturnType<typeof parseFlags<typeof fileOptions>>,
  { env }: Runtime,
): Promise<Target> {
  const context = await readContext(flags, env)
  return { context, host: registryHost(context), file: flags.authfile ?? dockerConfigFile(env) }
}
