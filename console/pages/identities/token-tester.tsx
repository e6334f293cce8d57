// Says whether a pasted token matches an identity, and which claim does not.
import { useSignal } from '@preact/signals'
import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { Badge } from '../../ui/badge.tsx'
import { serverUrl } from '../../ui/code-block.tsx'
import { TextArea } from '../../ui/field.tsx'
import { Table } from '../../ui/table.tsx'
import { claimsOf, compareClaims, ownAudiencesOf } from './token-match.ts'

export function TokenTester({ identity }: { identity: IdentityJson }) {
  const token = useSignal('')
  const claims = claimsOf(token.value)
  const { issuer = serverUrl() } = document.documentElement.dataset
  const ownAudiences = ownAudiencesOf(issuer, serverUrl())
  const results = claims ? compareClaims(identity, claims, ownAudiences, Date.now()) : []
  const isMatch = results.every(({ matches }) => matches)
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
            <Badge tone={isMatch ? 'good' : 'bad'}>{isMatch ? 'Matches' : 'Does not match'}</Badge>
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
                cell: ({ claim, matches }) => <Badge tone={matches ? 'good' : 'bad'}>{claim}</Badge>,
              },
              {
                title: 'In the token',
                cell: ({ actual }) => <span class="wrap">{actual || '(missing)'}</span>,
              },
              { title: 'Expected', cell: ({ expected }) => <span class="wrap">{expected}</span> },
            ]}
          />
        )}
      </div>
    </>
  )
}
