// Lints our protos and generates api/gen from them, without the network.
// An argument names another folder below which api/gen is written.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, renameSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const output = process.argv[2] ?? root
const borrowed = [
  'google/api/annotations.proto',
  'google/api/field_behavior.proto',
  'google/api/http.proto',
  'google/rpc/code.proto',
  'google/rpc/error_details.proto',
  'google/rpc/status.proto',
]

for (const file of borrowed) borrow(file)
buf('lint')
buf('generate', '--output', output)

// Renamed into place, so that a run beside this one never reads half a file.
function borrow(file: string): void {
  const copy = join(root, '.cache/google-protos', file)
  mkdirSync(dirname(copy), { recursive: true })
  copyFileSync(join(root, 'node_modules/google-proto-files', file), `${copy}.${process.pid}`)
  renameSync(`${copy}.${process.pid}`, copy)
}

function buf(...args: string[]): void {
  const { status, error } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/@bufbuild/buf/bin/buf'), ...args],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        // buf.gen.yaml starts its plugin with `node`, which has to be the Node that runs this.
        PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
        BUF_CACHE_DIR: join(root, '.cache/buf'),
      },
    },
  )
  if (error) throw error
  if (status !== 0) process.exit(status ?? 1)
}
