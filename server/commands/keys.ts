import { recordRotation, rotateKeys } from '../auth/keys/rotation.ts'
import { readConfig } from '../config/config.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import type { Command } from './command.ts'
import { usageOf } from './command.ts'
import { withPreparedStore } from './with-store.ts'

export const keys: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, { revoke: { type: 'boolean' } })
  if (positionals.join(' ') !== 'rotate') throw usageOf('keys')
  const shouldRevoke = flags.revoke === true
  const { tokenAlgorithm } = config
  const { now, random } = context
  await withPreparedStore(config, context, ({ store, secret }) =>
    rotateKeys({ store, secret, tokenAlgorithm, now, random }, shouldRevoke, () =>
      recordRotation(operatorAccessFor('stemmad keys rotate'), shouldRevoke),
    ),
  )
  context.stdout.write(
    shouldRevoke
      ? 'The new keys are in use. Tokens signed with the old keys are invalid; running servers refuse them within a minute.\n'
      : 'The new keys are published and come into use in ten minutes. Tokens signed with the old keys stay valid until they expire.\n',
  )
  return 0
}
