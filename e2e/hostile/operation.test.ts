// Attacks by other users of the machine and by other containers: they try to read files and metrics, and to forge the
// address of a client.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { parse } from 'yaml'
import { startApp } from '../../server/app.ts'
import { readConfig } from '../../server/config/config.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import { dataDirFlags, remove, runStemmad, runStemmadInline, temporaryFolder } from '../server/stemmad.ts'

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

describe('the files of the embedded store', { skip: process.platform === 'win32' }, () => {
  let folder: string
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => remove(folder))

  test('can be read only by their owner, whatever the umask of the server', async () => {
    const umask = process.umask(0)
    const platform = await startPlatform('sqlite').finally(() => process.umask(umask))
    try {
      const { organization: parent, token } = platform.owner
      await restDoor(platform.url).call(
        GroupsService.method.createGroup,
        { parent, group: { name: 'x' } },
        token,
      )
      const { dataDir } = platform.config
      const names = await readdir(dataDir)
      for (const name of ['stemma.db', 'stemma.db-wal', 'stemma.db-shm', 'secret.key'])
        assert.ok(names.includes(name), names.join(' '))
      for (const name of names) assert.equal(await modeOf(join(dataDir, name)), '600', name)
      assert.equal(await modeOf(dataDir), '700')
    } finally {
      await platform.stop()
    }
  })

  /**
   * Runs Node in a working folder that was deleted. There, a recursive mkdir of a relative path
   * never returns.
   */
  async function runInDeletedFolder(...args: string[]): Promise<{ code: number; stderr: string }> {
    const deleted = join(folder, 'deleted')
    await mkdir(deleted)
    const command = 'cd "$0" && rmdir "$0" && exec "$@"'
    const child = spawn('/bin/sh', ['-c', command, deleted, process.execPath, ...args], {
      ...{ stdio: 'pipe', timeout: 300_000, killSignal: 'SIGKILL' },
    })
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    return { code, stderr }
  }

  const removedFolder = /ENOENT: process\.cwd failed .* the current working directory was likely removed/

  test('are not created in a working folder that was deleted: a command fails with a message', async () => {
    const main = join(import.meta.dirname, '../../server/main.ts')
    const { code, stderr } = await runInDeletedFolder(main, 'migrate')
    assert.equal(code, 1)
    assert.match(stderr, removedFolder)
  })

  test('are not created in a working folder that was deleted: reading the secret file fails with a message', async () => {
    const module = new URL('../../server/crypto/secret-file.ts', import.meta.url)
    const call = `readSecretFile('data', (size) => Buffer.alloc(size))`
    const script = `import { readSecretFile } from '${module.href}'; ${call}`
    const { code, stderr } = await runInDeletedFolder('--input-type=module', '--eval', script)
    assert.equal(code, 1)
    assert.match(stderr, removedFolder)
  })

  test('are made private, with a message, when a command or the server opens them', async () => {
    const data = join(folder, 'data')
    assert.equal((await runStemmadInline(['migrate', ...dataDirFlags(folder)])).code, 0)
    const openToOthers = async () => {
      await chmod(data, 0o755)
      await chmod(join(data, 'stemma.db'), 0o644)
      await chmod(join(data, 'secret.key'), 0o640)
    }
    const message = /data was open to other users of this machine \(mode 755\); its mode is now 700/
    await openToOthers()
    const { code, stderr } = await runStemmad(folder, ['migrate'])
    assert.equal(code, 0, stderr)
    assert.match(stderr, message)
    assert.match(stderr, /secret\.key was open .*\(mode 640\); its mode is now 600/)
    const logOfServer = async () => {
      const { log, written } = captureLog('warn')
      const app = await startApp(readConfig({}, [...dataDirFlags(folder), '--port', '0']).config, log)
      await app.stop(true)
      return written.join('')
    }
    assert.doesNotMatch(await logOfServer(), /was open/)
    await openToOthers()
    assert.match(await logOfServer(), message)
    for (const name of ['stemma.db', 'secret.key']) assert.equal(await modeOf(join(data, name)), '600')
    assert.equal(await modeOf(data), '700')
  })

  test('are not opened with a secret that is too short', async () => {
    const data = join(folder, 'data-with-short-secret')
    await mkdir(data, { mode: 0o700 })
    await writeFile(join(data, 'secret.key'), 'short\n', { mode: 0o600 })
    const { code, stderr } = await runStemmadInline(['bootstrap', '--org', 'acme', '--data-dir', data])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^stemmad: .*secret\.key must contain at least 32 characters; restore it from a backup/,
    )
  })

  const skipReason = process.getuid?.() !== 0 && 'only root can create a folder of another user'
  test('are refused in a folder that belongs to another user and is open to everyone', {
    skip: skipReason,
  }, async () => {
    const data = join(folder, 'foreign')
    await mkdir(data)
    await chmod(folder, 0o755)
    await chmod(data, 0o777)
    // The module is copied to where the other user can read it.
    const source = join(import.meta.dirname, '../../server/store/sqlite/private-files.ts')
    await writeFile(join(folder, 'private-files.mts'), readFileSync(source))
    const script = `import { makePrivate } from '${join(folder, 'private-files.mts')}'
      try { makePrivate('${data}', []) } catch ({ code, message }) { console.log(code, message) }`
    await writeFile(join(folder, 'run.mts'), script)
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', join(folder, 'run.mts')],
      {
        ...{ cwd: '/', uid: 65534, gid: 65534, env: {}, stdio: ['ignore', 'pipe', 'pipe'] },
      },
    )
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    assert.match(output, /^PUBLIC_FOLDER .*is open to other users .*mode 777.*set STEMMA_DATA_DIR/)
  })
})

onEachStore('metrics', (engine) => {
  const statusAndBodyOf = async (url: string, init?: RequestInit) => {
    const answer = await fetch(url, init)
    return [answer.status, await answer.text()] as const
  }

  test('are served only on the metrics port if one is set', async () => {
    const platform: Platform = await startPlatform(engine, ['--metrics-port', '0'])
    try {
      const metricsServer = `http://127.0.0.1:${platform.app.metricsPort}`
      assert.equal((await statusAndBodyOf(`${platform.url}/metrics`))[0], 404)
      assert.equal((await statusAndBodyOf(`${platform.url}/healthz`))[0], 200)
      const [status, body] = await statusAndBodyOf(`${metricsServer}/metrics?x=y`)
      assert.equal(status, 200)
      assert.match(body, /stemma_calls_total/)
      for (const path of ['/', '/healthz', '/iam/v2beta1/groups', '/__proto__', '/metrics/'])
        assert.equal((await statusAndBodyOf(metricsServer + path))[0], 404, path)
      assert.equal((await statusAndBodyOf(`${metricsServer}/metrics`, { method: 'POST', body: 'x' }))[0], 405)
      await platform.app.stop(true)
      await assert.rejects(fetch(`${metricsServer}/metrics`))
    } finally {
      await platform.stop()
    }
  })

  test('are served on the main port if no metrics port is set', async () => {
    const platform = await startPlatform(engine)
    try {
      assert.equal((await statusAndBodyOf(`${platform.url}/metrics`))[0], 200)
      assert.equal(platform.app.metricsPort, undefined)
    } finally {
      await platform.stop()
    }
  })
})

test('the metrics port must be a number and differ from the main port', () => {
  assert.throws(() => readConfig({ PORT: '8080', STEMMA_METRICS_PORT: '8080' }, []), /must differ from PORT/)
  assert.throws(() => readConfig({ STEMMA_METRICS_PORT: 'x' }, []), /STEMMA_METRICS_PORT .*whole number/)
})

const readCompose = () =>
  parse(readFileSync(join(import.meta.dirname, '../../compose.yaml'), 'utf8'), { merge: true })

test('compose.yaml trusts only the address of its balancer', () => {
  const compose = readCompose()
  const { balancer, db } = compose.services
  const address = balancer.networks.front.ipv4_address
  for (const name of ['stemma-1', 'stemma-2']) {
    const { environment, networks, ports } = compose.services[name]
    assert.equal(environment.STEMMA_TRUSTED_PROXIES, address)
    assert.equal(environment.STEMMA_METRICS_PORT, '9090')
    assert.deepEqual(networks, ['front', 'data'])
    assert.equal(ports, undefined)
    assert.deepEqual(readConfig({ STEMMA_TRUSTED_PROXIES: address }, []).config.trustedProxies, [address])
  }
  // The database and the balancer cannot reach each other.
  assert.deepEqual([db.networks, Object.keys(balancer.networks)], [['data'], ['front']])
  assert.ok(address.startsWith(compose.networks.front.ipam.config[0].subnet.split('.0/')[0]))
})

test('the copies of compose.yaml share the content of the registry', () => {
  const compose = readCompose()
  for (const name of ['stemma-1', 'stemma-2'])
    assert.deepEqual(compose.services[name].volumes, ['content:/data'])
  assert.ok('content' in compose.volumes)
})
