// Choosing a password at a one-time link (accounts.ts).
import { choosePasswordPage, readyPage } from '../../../pages/set-up.ts'
import { prefixOf } from '../../../pages/url-prefix.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { LoginAddress } from '../accounts.ts'
import { loginAddressOf, passwordLink, setPassword } from '../accounts.ts'
import { hashForUnverifiedAddress } from '../claimed-accounts.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { passwordFault } from '../passwords.ts'
import { paths } from '../paths.ts'
import type { SetUpDependencies } from './dependencies.ts'
import { usedLink } from './dependencies.ts'

const advice = 'ask the operator of this server for another'

export async function showPasswordForm(
  deps: SetUpDependencies,
  { query }: PageRequest,
): Promise<PageResponse> {
  const code = query.get('code') ?? ''
  const { email } = await requirePerson(deps, code)
  return { page: choosePasswordPage({ action: actionOf(deps), code, email }) }
}

export async function choosePassword(deps: SetUpDependencies, request: PageRequest): Promise<PageResponse> {
  const { store, states, secret, usePasswords, now } = deps
  const form = await request.form()
  const [code, password] = [form.get('code') ?? '', form.get('password') ?? '']
  const { identity, email, isUnverified } = await requirePerson(deps, code)
  const refuse = (fault: string): PageResponse => {
    const message = `The password ${fault}.`
    return { page: choosePasswordPage({ action: actionOf(deps), code, email, message }), status: 400 }
  }
  const fault = passwordFault(password, email)
  if (fault) return refuse(fault)
  const passwordHash = await usePasswords(request.address, (passwords) =>
    isUnverified
      ? hashForUnverifiedAddress({ passwords, secret }, email, password)
      : passwords.hash(password),
  )
  try {
    await store.write(function* () {
      if (!(yield* states.use(passwordLink, code))) throw usedLink(advice)
      yield* setPassword(identity, passwordHash, now())
      yield* deps.pageLog.record(request, {
        method: 'password',
        kind: 'accounts',
        action: 'password-set',
        identity,
      })
    })
  } catch (error) {
    // Another account that claims this address has the same password. The refusal reveals this, but
    // nobody can try many passwords in this way: the first one that no other account has becomes
    // the new password, which uses up the link.
    if (error instanceof StoreError && error.kind === 'unique') return refuse('must be harder to guess')
    throw error
  }
  deps.onSetUp({ identity })
  return { page: readyPage('Your password is set', email, deps.baseUrl) }
}

const actionOf = ({ authUrl }: SetUpDependencies) => prefixOf(authUrl) + paths.password

/** The person for whom a link was made. Throws if the link was used or has expired. */
async function requirePerson(
  { store, states }: SetUpDependencies,
  code: string,
): Promise<LoginAddress & { identity: string }> {
  const person = await store.read(function* () {
    const state = yield* states.find(passwordLink, code)
    if (!state?.identity || state.useTime !== undefined) return undefined
    const address = yield* loginAddressOf(state.identity)
    return address && { ...address, identity: state.identity }
  })
  if (!person) throw usedLink(advice)
  return person
}
