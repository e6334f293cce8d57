import assert from 'node:assert/strict'
import { test } from 'node:test'
import { associationOf, installationLines, installationsOf, linesOf, pairsOf } from './association-values.ts'

const formOf = (values: Record<string, string>) => {
  const form = new FormData()
  for (const [name, value] of Object.entries(values)) form.set(name, value)
  return form
}

test('pairs and installations are the same after a round trip', () => {
  const pairs = { agentless: 'a=b', ingester: 'c' }
  assert.deepEqual(pairsOf(`\n${linesOf(pairs)} \n\n`), pairs)
  const github = {
    appInstallations: {
      '12': {
        installations: [
          { installationId: '34', name: 'acme  inc' },
          { installationId: '56', name: '' },
        ],
      },
      '78': { installations: [{ installationId: '90', name: 'research' }] },
    },
  }
  assert.deepEqual(installationsOf(installationLines(github)), github)
  assert.equal(installationsOf(' \n'), undefined)
})

test('an account without any value is left out', () => {
  const noAccounts = { name: 'cloud', description: '' }
  assert.deepEqual(associationOf(formOf({ name: 'cloud', amazon: ' ', clientIds: '\n' })), noAccounts)
  assert.deepEqual(associationOf(formOf({ ...noAccounts, amazon: '123456789012', projectId: 'p' })), {
    ...{ ...noAccounts, amazon: { account: '123456789012' }, google: { projectId: 'p', projectNumber: '' } },
  })
})
