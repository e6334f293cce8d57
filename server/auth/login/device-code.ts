import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { attemptAll } from '../throttle.ts'
import type { SignInThrottles } from './sign-in-throttles.ts'
import { attemptsOf } from './sign-in-throttles.ts'

export type DeviceCodeDependencies = {
  provider(): Provider
  throttles: SignInThrottles
  /** The requests with a wrong code, as the pages of the device flow report them. */
  wrongCodes: WeakSet<IncomingMessage>
}

/**
 * Limits wrong codes: a code is short enough to type, and so to guess. As with passwords, the limits of an account
 * from one network are the lowest, so a guesser elsewhere does not lock out the person.
 */
export async function enterDeviceCode(
  { provider, throttles, wrongCodes }: DeviceCodeDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  // The types require a Koa context; a session needs only what createContext returns.
  const context = provider().createContext(request, response) as never
  const { accountId } = await provider().Session.get(context)
  const succeed = attemptAll(attemptsOf(throttles, accountId, address))
  await provider().callback()(request, response)
  if (!wrongCodes.has(request)) succeed()
}
