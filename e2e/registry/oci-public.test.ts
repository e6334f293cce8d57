// Pulls from public repos, which need no credentials.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Settings } from '../../server/resources/dependencies.ts'
import { findRepoFor } from '../../server/resources/registry/content/find-repo-for.ts'
import { sql } from '../../server/store/sql.ts'
import { contentOf } from '../../server/store/statement/statement.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { anonymous } from '../../server/wire/caller.ts'
import { digestOf, imageOf, ociClient } from './oci-client.ts'
import { basic, challengeOf, getToken, withChallenge } from './token-client.ts'

async function publish(platform: Platform, name: string): Promise<string> {
  const headers = { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' }
  const listed = await fetch(`${platform.url}/registry/v2beta1/repos?name=${name}`, { headers })
  const { repos } = (await listed.json()) as { repos: { uid: string }[] }
  const uid = repos[0]?.uid ?? ''
  const body = JSON.stringify({ public: true })
  const updated = await fetch(`${platform.url}/registry/v2beta1/repos/${uid}`, {
    method: 'PATCH',
    headers,
    body,
  })
  assert.equal(updated.status, 200)
  return uid
}

const digest = digestOf(imageOf('layer'))
const pulls = [
  'manifests/latest',
  `manifests/${digest}`,
  `blobs/${digestOf('layer')}`,
  'tags/list',
  `referrers/${digest}`,
]

onEachStore('public repos', (engine) => {
  describe('on a server that allows them', () => {
    let platform: Platform
    let url: string
    let uid: string
    const change = async (path: string, fields: object, token: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const init = { method: 'PATCH', headers, body: JSON.stringify(fields) }
      assert.equal((await fetch(`${url}${path}`, init)).status, 200)
    }
    before(async () => {
      platform = await startPlatform(engine, ['--public-repos', 'on'])
      url = platform.url
      const owner = ociClient(url, platform.owner.token)
      for (const name of ['acme/open', 'acme/closed']) await owner.pushImage(name, 'latest', 'layer')
      uid = await publish(platform, 'open')
    })
    after(() => platform.stop())

    test('can be pulled from by everybody, with and without a token', async () => {
      const { token } = await platform.addOrganization('stranger')
      for (const path of pulls) {
        assert.equal((await fetch(`${url}/v2/acme/open/${path}`)).status, 200, path)
        assert.equal((await fetch(`${url}/v2/${uid}/${path}`, { method: 'HEAD' })).status, 200, path)
        await ociClient(url, token).expect(200, 'GET', `/v2/acme/open/${path}`)
      }
      const { status, body } = await getToken(url, [
        'repository:acme/open:pull,push repository:acme/closed:*',
      ])
      assert.deepEqual([status, body.scope], [200, 'repository:acme/open:pull'])
      const guest = ociClient(url, body.token)
      await guest.expect(200, 'GET', '/v2/')
      await guest.expect(200, 'GET', '/v2/acme/open/manifests/latest')
      assert.equal(await guest.errorOf('GET', '/v2/acme/open/manifests/none'), '404 MANIFEST_UNKNOWN')
      const asked = await getToken(url, ['repository:acme/open:*'], basic('_token', token))
      assert.equal(asked.body.scope, 'repository:acme/open:pull')
    })

    test('can be pulled from although strangers have organizations with the same name', async () => {
      const { organization, token } = await platform.addOrganization('acme')
      for (const path of pulls) {
        assert.equal((await fetch(`${url}/v2/acme/open/${path}`)).status, 200, path)
        assert.equal((await fetch(`${url}/v2/acme/closed/${path}`)).status, 401, path)
      }
      const { body } = await getToken(url, ['repository:acme/open:pull repository:acme/closed:pull'])
      assert.equal(body.scope, 'repository:acme/open:pull')
      const other = await platform.addOrganization('neutral')
      await ociClient(url, other.token).expect(200, 'GET', '/v2/acme/open/manifests/latest')
      assert.equal(await ociClient(url, token).errorOf('GET', '/v2/acme/open/tags/list'), '404 NAME_UNKNOWN')
      await platform.store.write(function* () {
        yield sql`update groups set name = 'renamed' where uid = ${organization}`
      })
    })

    test('keep their name: a name means the repo that has been public under it for longest', async () => {
      const isOurs = async () => {
        const response = await fetch(`${url}/v2/acme/open/manifests/latest`)
        const tokens = await getToken(url, ['repository:acme/open:pull'])
        assert.deepEqual([response.status, tokens.body.scope], [200, 'repository:acme/open:pull'])
        return response.headers.get('docker-content-digest') === digest
      }
      const squatters = await Promise.all(Array.from({ length: 22 }, () => platform.addOrganization('acme')))
      const [early, squatter] = [await platform.addOrganization('early'), squatters.at(-1)]
      assert.ok(squatter)
      for (const { token, organization } of [squatter, early]) {
        const path = `${organization === early.organization ? 'early' : 'acme'}/open`
        await ociClient(url, token).pushImage(path, 'latest', 'evil')
        const [row] = await platform.store.query(
          sql`select uid from repos where name = 'open' and parent = ${organization}`,
        )
        await change(`/registry/v2beta1/repos/${row?.[0]}`, { public: true }, token)
        assert.equal(await isOurs(), true)
      }
      // As if `early` had published its repo before ours, while its organization had another name.
      await platform.store.write(function* () {
        yield sql`update repos set public_since = 1 where parent = ${early.organization}`
      })
      await change(`/iam/v2beta1/groups/${early.organization}`, { name: 'acme' }, early.token)
      assert.equal(await isOurs(), true)
      // The time starts again when ours becomes public again.
      for (const isPublic of [false, true])
        await change(`/registry/v2beta1/repos/${uid}`, { public: isPublic }, platform.owner.token)
      assert.equal(await isOurs(), false)
      await platform.store.write(function* () {
        yield sql`update groups set name = 'renamed' where name = 'acme' and uid <> ${platform.owner.organization}`
      })
      assert.equal(await isOurs(), true)
    })

    test('are found in groups of an organization that has the same name as other organizations', async () => {
      const [first] = await Promise.all(Array.from({ length: 3 }, () => platform.addOrganization('deep')))
      assert.ok(first)
      const headers = { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' }
      const make = async (kind: string, parent: string, fields: object) => {
        const init = { method: 'POST', headers, body: JSON.stringify(fields) }
        const response = await fetch(`${url}/${kind}/${parent}`, init)
        assert.equal(response.status, 200)
        return ((await response.json()) as { uid: string }).uid
      }
      let group = first.organization
      const path = ['deep']
      for (let depth = 1; depth < 32; depth++) {
        group = await make('iam/v2beta1/groups', group, { name: 'g' })
        path.push('g')
        if (![1, 2, 31].includes(depth)) continue
        await make('registry/v2beta1/repos', group, { name: 'tools/app', public: true })
        const scope = `repository:${[...path, 'tools/app'].join('/')}:pull`
        assert.equal((await getToken(url, [scope])).body.scope, scope)
        const missing = scope.replace('app', 'none')
        assert.equal((await getToken(url, [missing])).body.scope, '')
      }
    })

    test('are looked for with few SQL statements, however many parts a name has', async () => {
      await Promise.all([1, 2].map(() => platform.addOrganization('long')))
      const long = `long/${'a/'.repeat(590)}a`
      const { status, body } = await getToken(url, [`repository:${long}:pull`])
      assert.deepEqual([status, body.scope], [200, ''])
      assert.equal((await fetch(`${url}/v2/${long}/tags/list`)).status, 401)
      // The settings that the function reads.
      const settings = { publicRepos: true } as Settings
      const counted = await platform.store.read(function* () {
        const work = findRepoFor(settings, { caller: anonymous, time: 0, list: [] }, long)
        let count = 0
        let mostValues = 0
        for (let step = work.next(); !step.done; count++) {
          mostValues = Math.max(mostValues, contentOf(step.value).values.length)
          step = work.next(yield step.value)
        }
        return { count, mostValues }
      })
      assert.ok(counted.count <= 5, `${counted.count} statements`)
      assert.ok(counted.mostValues <= 130, `${counted.mostValues} values`)
    })

    test('allow pulls and nothing else', async () => {
      const { token } = await platform.addOrganization('other')
      const { body } = await getToken(url, ['repository:acme/open:*'])
      const requests: [method: string, path: string][] = [
        ['PUT', 'manifests/latest'],
        ['POST', 'blobs/uploads/'],
        ['POST', `blobs/uploads/?mount=${digestOf('layer')}&from=acme/open`],
        ['GET', 'blobs/uploads/1'],
        ['DELETE', 'manifests/latest'],
        ['DELETE', `blobs/${digestOf('layer')}`],
      ]
      for (const [method, path] of requests) {
        for (const headers of [{}, { authorization: `Bearer ${body.token}` }])
          assert.equal((await fetch(`${url}/v2/acme/open/${path}`, { method, headers })).status, 401, path)
        assert.equal(await ociClient(url, token).errorOf(method, `/v2/acme/open/${path}`), '403 DENIED', path)
      }
      // Others may pull the layer, but not mount it from there, which requires a role: an upload begins instead.
      const mount = `/v2/other/web/blobs/uploads/?mount=${digestOf('layer')}&from=acme/open`
      await ociClient(url, token).expect(202, 'POST', mount)
      const lists = ['/registry/v2beta1/repos', `/registry/v2beta1/repos/${uid}`, '/registry/v2beta1/tags']
      for (const path of lists)
        for (const headers of [{}, { authorization: `Bearer ${body.token}` }])
          assert.equal((await fetch(`${url}${path}`, { headers })).status, 401, path)
      assert.equal((await fetch(`${url}/v2/`)).status, 401, 'clients must learn where they get tokens')
    })

    test('do not show which other repos exist', async () => {
      await platform.addOrganization('twin')
      await platform.addOrganization('twin')
      const { body } = await getToken(url, [])
      const answersOf = async (name: string) => {
        const answers = []
        for (const headers of [{}, { authorization: `Bearer ${body.token}` }])
          for (const path of pulls) {
            const response = await fetch(`${url}/v2/${name}/${path}`, { headers })
            const { error = '' } = challengeOf(response)
            answers.push([path, response.status, error, (await response.text()).replaceAll(name, '')])
          }
        return answers
      }
      const expected = await answersOf('acme/closed')
      assert.deepEqual(new Set(expected.map(([, status]) => status)), new Set([401]))
      const names = ['acme/none', 'acme/open/x', 'acme', 'nobody/web', 'twin/web', '0'.repeat(40), `${uid}/1`]
      for (const name of names) assert.deepEqual(await answersOf(name), expected, name)
    })

    test('refuse the next pull when they are no longer public', async () => {
      const owner = ociClient(url, platform.owner.token)
      await owner.pushImage('acme/brief', 'latest', 'layer')
      const brief = await publish(platform, 'brief')
      const { body } = await getToken(url, ['repository:acme/brief:pull'])
      const guest = ociClient(url, body.token)
      await guest.expect(200, 'GET', '/v2/acme/brief/manifests/latest')
      const headers = { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' }
      const init = { method: 'PATCH', headers, body: JSON.stringify({ public: false }) }
      assert.equal((await fetch(`${url}/registry/v2beta1/repos/${brief}`, init)).status, 200)
      const refused = await guest.expect(401, 'GET', '/v2/acme/brief/manifests/latest')
      assert.equal(challengeOf(refused).error, 'insufficient_scope')
    })
  })

  test('limit pulls without credentials by the address of the client', async () => {
    const rates = ['--rate-read', 'address=5', '--rate-exchange', 'address=5']
    // The clock stands still, so that the limits allow no further calls while slow requests run.
    const limited = await startPlatform(engine, ['--public-repos', 'on', ...rates], { clock: () => 0 })
    try {
      const owner = ociClient(limited.url, limited.owner.token)
      await owner.pushImage('acme/open', 'latest', 'layer')
      await publish(limited, 'open')
      const path = `${limited.url}/v2/acme/open/manifests/latest`
      const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await fetch(path)).status))
      assert.deepEqual([...new Set(statuses)].sort(), [200, 429])
      const asked = await Promise.all(
        Array.from({ length: 100 }, async () => (await getToken(limited.url, [])).status),
      )
      assert.deepEqual([...new Set(asked)].sort(), [200, 429])
    } finally {
      await limited.stop()
    }
  })

  test('are not public on a server that does not allow them', async () => {
    const platform = await startPlatform(engine)
    try {
      const { url } = platform
      await ociClient(url, platform.owner.token).pushImage('acme/open', 'latest', 'layer')
      await publish(platform, 'open')
      const { token } = await platform.addOrganization('stranger')
      for (const path of pulls) {
        assert.equal((await fetch(`${url}/v2/acme/open/${path}`)).status, 401)
        assert.equal(await ociClient(url, token).errorOf('GET', `/v2/acme/open/${path}`), '403 DENIED')
      }
      assert.equal((await getToken(url, ['repository:acme/open:pull'])).status, 401)
      assert.equal((await withChallenge(url, 'GET', '/v2/acme/open/tags/list')).status, 401)
    } finally {
      await platform.stop()
    }
  })
})
