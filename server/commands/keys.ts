import { randomBytes } from 'node:crypto'
import { rotateKeys } from '../auth/keys/rotation.ts'
import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'

export const keys: Command = {
  usage: 'keys rotate [--revoke]',
  about: 'Makes new keys, used in ten minutes; with --revoke at once, and every token signed before is void.',
  async run(args) {
    const { config, flags, rest } = readConfig(process.env, args, { revoke: { type: 'boolean' } })
    if (rest.join(' ') !== 'rotate') throw new UsageError('Usage: stemmad keys rotate [--revoke]')
    const store = openStore(config)
    try {
      const { secret } = await prepareStore(config, store)
      const isRevoked = flags.revoke === true
      await rotateKeys({ store, secret, now: Date.now, random: randomBytes }, isRevoked)
      process.stdout.write(
        isRevoked
          ? 'New keys are in use. Tokens signed before are void; running servers notice within a minute.\n'
          : 'New keys are published and take over in ten minutes. Tokens signed before stay valid until they expire.\n',
      )
      return 0
    } finally {
      await store.close()
    }
  },
}
