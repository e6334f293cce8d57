import { digestOf } from '../../crypto/digest.ts'
import { attemptAll } from '../throttle.ts'
import type { Passwords, UsePasswords } from './passwords.ts'
import type { SignInThrottles } from './sign-in-throttles.ts'
import { attemptsOf } from './sign-in-throttles.ts'

type AttemptDependencies = { usePasswords: UsePasswords; throttles: SignInThrottles }

/**
 * Runs an action that checks a password for this e-mail address. It counts as a failed attempt unless it calls
 * `succeed`. An action that is refused because too many others wait is not counted: it has revealed nothing, and the
 * owner of the account would otherwise be locked out after some retries.
 */
export async function attemptPassword<T>(
  { usePasswords, throttles }: AttemptDependencies,
  email: string,
  address: string,
  action: (passwords: Passwords, succeed: () => void) => Promise<T>,
): Promise<T> {
  const uncount = attemptAll(attemptsOf(throttles, digestOf(email), address))
  let hasStarted = false
  try {
    return await usePasswords(address, (passwords) => {
      hasStarted = true
      return action(passwords, uncount)
    })
  } catch (error) {
    if (!hasStarted) uncount()
    throw error
  }
}
