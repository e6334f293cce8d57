import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { attemptAll } from '../throttle.ts'
import type { SignInThrottles } from './sign-in-throttles.ts'
import { attemptsOf } from './sign-in-throttles.ts'

export type DeviceCodeDependencies = {
  provider(): Provider
  throttles: SignInThrottles
  /** The requests that contained a wrong code. The pages of the device flow add them. */
  requestsWithWrongCode: WeakSet<IncomingMessage>
}

/**
 * Throttles wrong codes, because a code that is short enough to type can also be guessed. As with passwords, the limits
 * for one account from one network are lower than the limit of the account, so an attacker in another network does not
 * lock the person out.
 */
export async function enterDeviceCode(
  { provider, throttles, requestsWithWrongCode }: DeviceCodeDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  // The types require a Koa context; Session.get needs only the properties that createContext returns.
  const context = provider().createContext(request, response) as never
  const { accountId } = await provider().Session.get(context)
  const succeed = attemptAll(attemptsOf(throttles, accountId, address))
  await provider().callback()(request, response)
  if (!requestsWithWrongCode.has(request)) succeed()
}
