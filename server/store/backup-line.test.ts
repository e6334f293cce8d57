import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BackupError, readBackupLine } from './backup-line.ts'

test('reads every kind of line', () => {
  for (const line of [
    { stemma: 'backup', edition: 1, migrations: ['0001-tree'] },
    { table: 'role_bindings', columns: ['uid', 'create_time'] },
    ['text', 1, null, { base64: 'AA==' }],
    { end: 3 },
  ])
    assert.deepEqual(readBackupLine(JSON.stringify(line)), line)
})

test('refuses any other line with a BackupError', () => {
  const lines = [
    ...['', 'text', 'null', 'true', '1', '"text"', '{}', '[[]]', '[true]', '[{}]', '[{"base64":1}]'],
    ...[
      '{"stemma":"backup"}',
      '{"stemma":"backup","edition":2,"migrations":[]}',
      '{"stemma":1,"migrations":[]}',
    ],
    ...['{"stemma":"backup","edition":1,"migrations":[1]}', '{"end":"1"}', '{"end":null}'],
    ...['{"stemma":"x","table":"a","columns":[]}', '{"stemma":"backup","edition":2,"migrations":[],"end":0}'],
    ...['{"table":1,"columns":[]}', '{"table":"groups"}', '{"table":"groups","columns":[1]}'],
    // Names that would become part of a statement.
    ...[
      '{"table":"groups; drop table groups","columns":["uid"]}',
      '{"table":"groups","columns":["uid) --"]}',
    ],
  ]
  for (const line of lines) assert.throws(() => readBackupLine(line), BackupError, line)
})
