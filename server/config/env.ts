// Reads the text of every setting from flags and environment, without validating it; config.ts validates it.
import { parseArgs } from 'node:util'
import type { SettingKey } from './settings.ts'
import { settings } from './settings.ts'

/** The flags that a command has besides the settings. */
export type FlagTypes = Record<string, { type: 'string' | 'boolean' }>
export type Flags = Record<string, string | boolean | undefined>

export type RawSettings = {
  texts: Record<SettingKey, string>
  flags: Flags
  /** The arguments that are not flags. */
  positionals: string[]
  faults: string[]
}

/** Flags win over the environment, which wins over the default. */
export function readSettings(env: NodeJS.ProcessEnv, args: string[], commandFlags: FlagTypes): RawSettings {
  const { flags, positionals, faults } = parseFlags(args, commandFlags)
  const texts = Object.entries(settings).map(([key, { variable, flag, defaultText, mayBeEmpty }]) => {
    const fromEnv = mayBeEmpty ? env[variable] : env[variable] || undefined
    return [key, String(flags[flag] ?? fromEnv ?? defaultText)]
  })
  // The keys are those of `settings`.
  return { texts: Object.fromEntries(texts) as Record<SettingKey, string>, flags, positionals, faults }
}

/** Not strict, because a strict parser stops at the first fault and we report all of them together. */
function parseFlags(args: string[], commandFlags: FlagTypes) {
  const settingFlags = Object.values(settings).map(({ flag }) => [flag, { type: 'string' as const }])
  const options: FlagTypes = { ...Object.fromEntries(settingFlags), ...commandFlags }
  const { tokens, positionals } = parseArgs({ args, options, strict: false, tokens: true })
  const flags: Flags = {}
  const faults: string[] = []
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const type = Object.hasOwn(options, name) && rawName.startsWith('--') ? options[name]?.type : undefined
    // Without `=`, text that starts with a dash is the next flag and not a value; a dash alone means standard input.
    const isMissing = value === undefined || (!inlineValue && /^-./s.test(value))
    if (type === undefined) faults.push(`there is no flag ${rawName}`)
    else if (type === 'boolean' && value !== undefined) faults.push(`${rawName} takes no value`)
    else if (type === 'string' && isMissing) faults.push(`${rawName} needs a value`)
    else flags[name] = value ?? true
  }
  return { flags, positionals, faults }
}
