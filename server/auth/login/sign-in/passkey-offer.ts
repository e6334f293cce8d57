import type { PasskeyOffer } from '../../../pages/sign-in/passkey.ts'
import { prefixOf } from '../../../pages/url-prefix.ts'
import type { Passkey } from '../../second-factors/passkeys.ts'
import { ceremonyMs, relyingPartyOf } from '../../second-factors/webauthn.ts'
import { paths } from '../paths.ts'
import type { SignInDependencies } from './dependencies.ts'
import type { Interaction } from './interaction.ts'
import { newChallenge } from './passkey-challenge.ts'

/**
 * Options for `navigator.credentials.get`. If `passkeys` is empty, the browser offers all passkeys that it has for this
 * server, so the page does not reveal who has an account.
 */
export function passkeyOffer(
  deps: SignInDependencies,
  interaction: Interaction,
  passkeys: readonly Passkey[] = [],
  pending = '',
): PasskeyOffer {
  const options = {
    challenge: newChallenge(deps, interaction),
    ...{
      rpId: relyingPartyOf(deps.authUrl, deps.authUrl).id,
      timeout: ceremonyMs,
      userVerification: 'required',
    },
    allowCredentials: passkeys.map(({ id, transports }) => ({ id, transports, type: 'public-key' })),
  }
  return { options: JSON.stringify(options), script: prefixOf(deps.authUrl) + paths.passkeyScript, pending }
}
