// Challenges of passkeys at sign-in. Anyone can ask for one, so the server does not store it: a
// challenge contains its expiry and a message authentication code, which also binds it to one
// interaction. Only used challenges are stored, until they expire.
import { createHmac } from 'node:crypto'
import { equalInConstantTime } from '../../../crypto/digest.ts'
import type { RandomBytes } from '../../../crypto/random.ts'
import type { Secret } from '../../../crypto/secret.ts'
import type { Work } from '../../../store/work.ts'
import { ceremonyMs } from '../../second-factors/webauthn.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import type { Interaction } from './interaction.ts'

type Dependencies = { secret: Secret; now(): number; random: RandomBytes }

/** In base64url, as browsers return it. */
export function newChallenge(deps: Dependencies, { uid }: Interaction): string {
  const content = `${deps.random(16).toString('base64url')}.${deps.now() + ceremonyMs}`
  return Buffer.from(`${content}.${codeFor(deps, uid, content)}`).toString('base64url')
}

export function isChallenge(deps: Dependencies, { uid }: Interaction, challenge: string): boolean {
  const [nonce = '', expires = '', code = ''] = Buffer.from(challenge, 'base64url').toString().split('.')
  return equalInConstantTime(code, codeFor(deps, uid, `${nonce}.${expires}`)) && Number(expires) > deps.now()
}

const codeFor = ({ secret }: Dependencies, uid: string, content: string) =>
  createHmac('sha256', secret.derive('passkey challenges')).update(`${uid} ${content}`).digest('base64url')

const usedKind = 'UsedPasskeyChallenge'

/** Returns false if the challenge was used before. */
export function* useChallenge(states: ExpiringStates, challenge: string): Work<boolean> {
  yield* states.put(usedKind, challenge, {}, ceremonyMs / 1000)
  return (yield* states.use(usedKind, challenge)) !== undefined
}
