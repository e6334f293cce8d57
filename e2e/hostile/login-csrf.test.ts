// Login CSRF: the attacker begins a sign-in, and another host of the domain sets the cookies of that sign-in in the
// browser of a person. It can set only cookies that are limited to a path, because over https the
// others have the prefix `__Host-`. No step of the sign-in may succeed in that browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Platform } from '@stemma/server/testing/platform.ts'
import type { Configuration } from 'openid-client'
import { addAccount, begin, password, relyingParty, signIn, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const [ada, mallory] = ['ada@example.com', 'mallory@example.com']

// On SQLite only, since the state of a sign-in that is under way is in cookies.
describe('a sign-in that another host puts into the browser of a person', () => {
  let platform: Platform
  let party: Configuration
  before(async () => {
    platform = await startSignInPlatform('sqlite')
    party = await relyingParty(platform.url)
    for (const email of [ada, mallory]) await addAccount(platform, email)
  })
  after(() => platform.stop())

  /** Over https, cookies for all paths have the prefix `__Host-` (forms.test.ts), so another host cannot set them. */
  const plantCookies = (victim: Visitor, attacker: Visitor) =>
    victim.useCookies([...victim.copyCookies(), ...attacker.copyCookies().filter(({ path }) => path !== '/')])

  const victims: Record<string, () => Promise<Visitor>> = {
    'a person who has never opened the sign-in': async () => new Visitor(platform.url),
    'a person who has begun to sign in': async () => {
      const visitor = new Visitor(platform.url)
      await visitor.open((await begin(party)).url)
      return visitor
    },
    'a person who is signed in': async () => (await signIn(platform, ada)).visitor,
  }

  for (const [who, openVictim] of Object.entries(victims)) {
    test(`does not sign in ${who} to the account of the attacker`, async () => {
      const [attacker, victim] = [new Visitor(platform.url), await openVictim()]
      const page = await attacker.open((await begin(party)).url)
      const resume = await attacker.submitOnly(page, '', { email: mallory, password })
      const titleBefore = (await victim.open((await begin(party)).url)).title
      plantCookies(victim, attacker)
      assert.doesNotMatch(await victim.redirectOf(resume), /[?&]code=/)
      assert.equal((await victim.open((await begin(party)).url)).title, titleBefore)
      assert.match(
        await attacker.redirectOf(resume),
        /[?&]code=/,
        'the browser that began the sign-in can finish it',
      )
    })

    test(`does not sign in the attacker as ${who}`, async () => {
      const [attacker, victim] = [new Visitor(platform.url), await openVictim()]
      const page = await attacker.open((await begin(party)).url)
      plantCookies(victim, attacker)
      const shown = await victim.open(page.url)
      assert.equal(shown.status, 400)
      assert.match(shown.text, /begun in another browser/)
      assert.equal(await victim.submitOnly(page, '', { email: ada, password }), '')
      const uid = new URL(page.url).pathname.split('/').at(-1)
      assert.doesNotMatch(await attacker.redirectOf(`${platform.url}/oauth/authorize/${uid}`), /[?&]code=/)
    })
  }

  test('does not sign in a person after the attacker has entered a device code', async () => {
    const [attacker, victim] = [new Visitor(platform.url), new Visitor(platform.url)]
    const body = new URLSearchParams({ client_id: 'stemma', scope: 'openid' })
    const device = await fetch(`${platform.url}/oauth/device`, { method: 'POST', body })
    const { user_code } = (await device.json()) as { user_code: string }
    const confirm = await attacker.submit(await attacker.open('/device'), { user_code })
    const page = await attacker.submit(confirm, { confirm: 'yes' })
    const resume = await attacker.submitOnly(page, '', { email: mallory, password })
    plantCookies(victim, attacker)
    assert.notEqual((await victim.open(resume)).title, 'Your device is signed in')
    assert.equal((await victim.open((await begin(party)).url)).title, 'Sign in')
    assert.equal((await attacker.open(resume)).title, 'Your device is signed in')
  })
})
