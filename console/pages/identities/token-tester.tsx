// Says whether a pasted token matches an identity, and which claim does not.
import { useSignal } from '@preact/signals'
import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { Badge } from '../../ui/badge.tsx'
import { serverUrl } from '../../ui/code-block.tsx'
import { TextArea } from '../../ui/field.tsx'
import { Table } from '../../ui/table.tsx'
import type { ClaimResult } from './token-match.ts'
import { claimsOf, compareClaims, ownAudiencesOf } from './token-match.ts'

export function TokenTester({ identity }: { identity: IdentityJson }) {
  const token = useSignal('')
  const claims = claimsOf(token.value)
  const { issuer = serverUrl() } = document.documentElement.dataset
  const ownAudiences = ownAudiencesOf(issuer, serverUrl())
  const results = claims ? compareClaims(identity, claims, ownAudiences, Date.now()) : []
  const summary = summaryOf(results)
  return (
    <>
      <TextArea
        label="Token of the workload"
        name="token"
        rows={3}
        autocomplete="off"
        spellcheck={false}
        hint="Compared in this browser only. It is not sent, and its signature is not checked."
        problem={token.value !== '' && !claims ? 'This is not a JSON Web Token.' : undefined}
        onInput={(event) => {
          token.value = event.currentTarget.value
        }}
      />
      <div aria-live="polite">
        {claims && (
          <p>
            <Badge tone={toneOf(summary)}>{summaryText(summary)}</Badge>
          </p>
        )}
        {claims && (
          <Table
            label="Claims"
            rows={results}
            uidOf={({ claim, expected }) => claim + expected}
            nameOf={({ claim }) => claim}
            hasUids={false}
            columns={[
              {
                title: 'Claim',
                cell: ({ claim, matches }) => <Badge tone={toneOf(matches)}>{claim}</Badge>,
              },
              {
                title: 'Value',
                cell: ({ actual }) => <span class="wrap">{actual || '(missing)'}</span>,
              },
              {
                title: 'Expected',
                cell: ({ expected, matches }) => (
                  <span class="wrap">
                    {expected}
                    {matches === undefined && ' (cannot be checked here)'}
                  </span>
                ),
              },
            ]}
          />
        )}
      </div>
    </>
  )
}

/** Undefined if nothing contradicts, but a pattern cannot be checked in the browser. */
function summaryOf(results: readonly ClaimResult[]): boolean | undefined {
  if (results.some(({ matches }) => matches === false)) return false
  return results.every(({ matches }) => matches) ? true : undefined
}

const toneOf = (matches: boolean | undefined) =>
  matches === undefined ? 'neutral' : matches ? 'good' : 'bad'

const summaryText = (matches: boolean | undefined) =>
  matches === undefined ? 'Cannot be checked here' : matches ? 'Matches' : 'Does not match'
