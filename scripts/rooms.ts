// The import table: which rooms each room may import. check-imports.ts enforces it, except in tests.

// In this table, each workspace is a room, except server: there, every folder and file directly
// below it is a room. `tables` are the table.ts files of resources, `type x` allows only
// `import type`, `*` is every room but server/testing. Every room of the server may also import
// `sharedRooms`.
export const mayImport: Record<string, string[]> = {
  api: [],
  cli: ['api'],
  console: ['api'],
  scripts: ['api', 'cli', 'console', 'server/build', 'server/config'],
  e2e: ['*', 'server/testing'],
  bench: ['*', 'server/testing'],
  'server/app': ['*'],
  'server/core': ['*'],
  'server/server-doors': ['*'],
  'server/background-tasks': ['*'],
  'server/corridors': ['*'],
  'server/start-workers': ['*'],
  'server/worker-role': ['*'],
  'server/worker-thread': ['*'],
  'server/lane-thread': ['*'],
  'server/authentication': ['*'],
  'server/resource-list': ['*'],
  'server/provisioning': ['*'],
  'server/registry-door': ['*'],
  'server/registry-collection': ['*'],
  'server/content-storage': ['*'],
  'server/limit-sharing': ['*'],
  'server/retention-schedule': ['*'],
  'server/event-retention': ['*'],
  'server/buffered-events': ['*'],
  'server/outgoing-events': ['*'],
  'server/binding-expiry': ['*'],
  'server/event-delivery': ['*'],
  'server/services': ['*'],
  'server/settings': ['*'],
  'server/server-facts': ['*'],
  'server/storage': ['*'],
  'server/v1-services': ['*'],
  'server/checks': ['*'],
  'server/checks-thread': ['*'],
  'server/commands': ['*'],
  'server/main': ['server/commands', 'server/resolve-imports'],
  'server/resolve-imports': [],
  'server/config': ['api'],
  'server/log': ['server/threads'],
  'server/bounded-map': [],
  'server/lazily': [],
  'server/package-files': [],
  'server/build': ['server/bin', 'server/package.json'],
  'server/fair-queueing': ['server/aip'],
  'server/store': ['server/fair-queueing'],
  'server/events': ['server/store'],
  'server/blobs': [],
  'server/crypto': [],
  'server/pages': ['api'],
  'server/threads': [],
  'server/aip': ['api', 'type server/crypto'],
  'server/wire': ['api'],
  'server/workers': ['api', 'server/aip', 'server/fair-queueing', 'server/wire', 'type server/rpc'],
  'server/claims': ['api'],
  'server/cloud-events': ['api', 'server/aip', 'server/wire'],
  'server/http': ['api', 'server/aip', 'server/wire', 'server/fair-queueing'],
  'server/front-door': ['api', 'server/pages', 'server/store'],
  'server/reference': ['api', 'server/pages'],
  'server/console': ['api', 'console', 'server/pages'],
  'server/rpc': [
    ...['api', 'server/aip', 'server/wire'],
    ...['type server/auth', 'type server/limits', 'type server/policy'],
  ],
  'server/limits': ['api', 'server/aip', 'server/wire', 'server/store'],
  'server/resources': [
    ...[
      'api',
      'server/aip',
      'server/blobs',
      'server/wire',
      'server/claims',
      'server/crypto',
      'server/limits',
      'server/policy',
      'server/store',
    ],
    ...['type server/cloud-events', 'type server/rpc'],
  ],
  'server/auth': [
    ...['api', 'server/aip', 'server/wire', 'server/claims', 'server/crypto', 'server/pages', 'server/store'],
    'tables',
  ],
  'server/delivery': [
    ...['api', 'server/aip', 'server/claims', 'server/crypto', 'server/store'],
    ...['server/auth', 'server/cloud-events'],
  ],
  'server/oci': ['api', 'server/aip', 'server/wire', 'server/blobs'],
  'server/scim': [
    ...['api', 'server/aip', 'server/wire', 'server/crypto', 'server/store'],
    ...['server/auth', 'server/limits'],
  ],
  'server/operators': [
    ...['api', 'server/aip', 'server/wire', 'server/store', 'server/policy', 'server/limits'],
    ...['server/auth', 'server/resources', 'type server/rpc'],
  ],
  'server/policy': ['api', 'server/aip', 'server/wire', 'server/store', 'tables'],
}

// Files that only these rooms may import, even if other rooms may import the rest of the folder.
export const restrictedFiles: Record<string, string[]> = {
  'server/policy/system-access.ts': [
    'server/authentication',
    'server/binding-expiry',
    'server/commands',
    'server/registry-collection',
    'server/retention-schedule',
    'server/event-delivery',
    'server/storage',
    'e2e',
    'bench',
  ],
}

/** Every room of the server may import these. */
export const sharedRooms = ['server/bounded-map', 'server/lazily', 'server/package-files', 'type server/log']

/** Folders that only files of the same room may import, whatever the table says. */
export const internalFolders = ['server/store/statement/']
