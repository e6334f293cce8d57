// A person whose e-mail address belongs to the domain of an organization can ask its owners for access.
import { api } from '../api/api.ts'
import { read, useRead } from '../api/read.ts'
import { useWrite } from '../api/write.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/form.tsx'
import { organizations } from './organizations.ts'

export const readEligibility = () => read(api.groups.checkEligibility, {})
const readOrganization = () => read(api.groups.lookupGroup, {})

/** Nothing is shown if the person already has access to the organization of their domain. */
export function RequestAccess() {
  const { data: known } = useRead(organizations)
  const { data: eligibility } = useRead(readEligibility())
  const { data } = useRead(readOrganization(), eligibility?.eligible === true)
  const { run, isRunning, error, isDone } = useWrite(api.groups.requestGroupAccess)
  const { uid = '', name } = data?.group ?? {}
  if (uid === '' || !known || known.groups?.some((group) => group.uid === uid)) return null
  return (
    <section class="panel">
      <div class="panel-header">
        <div>
          <h2 dir="auto">{name}</h2>
          <p class="quiet">
            {isDone.value
              ? 'The owners have your request. You have access when they approve it.'
              : 'Your e-mail address belongs to this organization. Its owners decide who gets access.'}
          </p>
        </div>
        {!isDone.value && (
          <Button tone="primary" isBusy={isRunning.value} onClick={() => void run({ groupUid: uid })}>
            Request access
          </Button>
        )}
      </div>
      {error.value !== undefined && <Problem error={error.value} />}
    </section>
  )
}
