// Whether somebody may do something, and why: their roles from the organization to the resource.

import { capabilityNames } from '@stemma/api/gen/capabilities/capability-names.ts'
import { Code, StemmaError } from '@stemma/api/json'
import type { AccessExplanationJson, AccessLevelJson } from '@stemma/api/json/platform/iam/v2beta1/access'
import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { api } from '../../api/api.ts'
import { findGroups } from '../../api/find-groups.ts'
import { findIdentities } from '../../api/find-identities.ts'
import type { Read } from '../../api/read.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { person } from '../../api/session.ts'
import { isUid } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { Badge } from '../../ui/badge.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Combobox } from '../../ui/combobox.tsx'
import { Form } from '../../ui/form.tsx'
import { Icon } from '../../ui/icon.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import type { Option } from '../../ui/suggestions.ts'
import { Time } from '../../ui/time.tsx'

const questionOf = ({ query, group }: Place) => ({
  identity: query.get('identity') ?? '',
  capability: query.get('capability') || 'groups.list',
  resource: query.get('resource') || group,
})

const readExplanation = (place: Place) => {
  const { identity, ...question } = questionOf(place)
  return read(api.access.explainAccess, { ...question, ...(identity && { identity }) })
}
/** Finds the name of a person: the API returns it only with the role bindings of that person. */
const readReach = (place: Place) =>
  read(api.access.listReach, { identity: place.query.get('identity') ?? undefined, pageSize: 1 })
/** Finds the name of a workload, which may have no role. Without access to the workload, the name is unknown. */
function readWorkload(place: Place): Read<IdentityJson> {
  const { queryKey, queryFn } = read(api.identities.getIdentity, { uid: place.query.get('identity') ?? '' })
  return {
    queryKey: [...queryKey, 'if visible'],
    queryFn: (context) =>
      queryFn(context).catch((error) => {
        if (error instanceof StemmaError && hiddenCodes.has(error.code)) return {}
        throw error
      }),
  }
}

const hiddenCodes = new Set<Code>([Code.NOT_FOUND, Code.PERMISSION_DENIED])

const isWorkload = (place: Place) => place.query.get('identity')?.includes('/') === true

export const load = (place: Place) => [
  ...[readExplanation(place), readReach(place)],
  ...(isWorkload(place) ? [readWorkload(place)] : []),
]

export default function Why({ place }: PageProps) {
  const question = questionOf(place)
  const explanation = useData(readExplanation(place))
  const { entries = [] } = useData(readReach(place))
  const { data: workload } = useRead(readWorkload(place), isWorkload(place))
  const who =
    question.identity === ''
      ? (person.value?.name ?? 'You')
      : workload?.name || entries[0]?.identity?.name || entries[0]?.identity?.email || question.identity
  const where = explanation.path?.at(-1)?.group?.name || question.resource
  const ask = (values: FormData) => {
    const text = (name: string) => String(values.get(name) ?? '')
    void navigate(
      withQuery(place, {
        identity: text('identity'),
        capability: text('capability'),
        resource: text('resource') === place.group ? undefined : text('resource'),
      }),
    )
  }
  return (
    <>
      <PageHeader
        title="Why"
        about="Ask who may do what, and see the role bindings that decide. The answer is the one that a call gets now."
      />
      <section class="panel">
        <Form submit="Ask" isRunning={false} error={undefined} onSubmit={ask} key={place.href}>
          <div class="question">
            <Combobox
              label="Who"
              name="identity"
              hint="Empty: you"
              find={findIdentities(place.group)}
              {...(question.identity && { chosen: { value: question.identity, label: who } })}
            />
            <Combobox
              label="May do"
              name="capability"
              required
              find={findCapabilities}
              chosen={{ value: question.capability, label: question.capability }}
            />
            <Combobox
              label="Where"
              name="resource"
              required
              hint="A group, or the uid of anything else"
              find={findResources(place.group)}
              chosen={{ value: question.resource, label: where }}
            />
          </div>
        </Form>
      </section>
      <Answer
        explanation={explanation}
        who={who}
        capability={question.capability}
        where={question.resource === place.group ? 'here' : `in ${where}`}
      />
      <PageCommands
        stemma={`stemma access explain ${question.capability} ${question.resource}${question.identity && ` --identity ${question.identity}`}`}
        curl={{
          path: `/iam/v2beta1/access:explain?${new URLSearchParams(Object.entries(question).filter(([, value]) => value !== ''))}`,
        }}
      />
    </>
  )
}

/** Groups of the organization by a part of their name. A uid may be that of any resource, and is used as it is. */
function findResources(group: string): (text: string) => Promise<Option[]> {
  const [organization = ''] = group.split('/')
  const find = findGroups(organization)
  return async (text) =>
    isUid(text.trim()) ? [{ value: text.trim(), label: text.trim(), detail: 'this uid' }] : find(text)
}

const names = Object.values(capabilityNames).sort()

const findCapabilities = async (text: string) =>
  names
    .filter((name) => name.includes(text.trim().toLowerCase()))
    .slice(0, 30)
    .map((name) => ({ value: name, label: name }))

type AnswerProps = { explanation: AccessExplanationJson; who: string; capability: string; where: string }

function Answer({ explanation, who, capability, where }: AnswerProps) {
  const { allowed, expireTime, path = [], sufficientRoles = [], grantors = [], hidden, limits } = explanation
  const isOutsideToken = explanation.capabilities?.some(
    ({ state }) => state === 'CAPABILITY_STATE_OUTSIDE_TOKEN',
  )
  return (
    <section class="panel">
      <p class="answer">
        <Badge tone={allowed ? 'good' : 'bad'}>{allowed ? 'Yes' : 'No'}</Badge>{' '}
        <span>
          <strong dir="auto">{who}</strong> {allowed ? 'may do' : 'may not do'} <code>{capability}</code>{' '}
          <span dir="auto">{where}</span>
          {expireTime && (
            <>
              , until <Time at={expireTime} />
            </>
          )}
          .
        </span>
      </p>
      <ol class="why-path">
        {path.map((level, at) => (
          <Level key={level.group?.uid} level={level} isResource={at === path.length - 1} />
        ))}
      </ol>
      {isOutsideToken && <p>A role has it, but your token is limited and excludes it.</p>}
      {limits && (
        <p class="quiet">
          {limits.allowsNothing
            ? 'The limits of the token allow nothing.'
            : 'The token is limited to some groups or capabilities.'}
        </p>
      )}
      {!allowed && sufficientRoles.length > 0 && (
        <p>
          Any of these roles would be enough: <strong>{sufficientRoles.join(', ')}</strong>.
        </p>
      )}
      {!allowed && grantors.length > 0 && (
        <p>
          Who could grant it:{' '}
          <span dir="auto">{grantors.map(({ name, email, uid }) => name || email || uid).join(', ')}</span>.
        </p>
      )}
      {hidden && (
        <p class="quiet">
          Some role bindings, or identities that could grant access, are hidden, because you may not list role
          bindings or identities in their groups.
        </p>
      )}
    </section>
  )
}

function Level({ level, isResource }: { level: AccessLevelJson; isResource: boolean }) {
  const { group, sources = [], hidden } = level
  const uid = group?.uid ?? ''
  const name = group?.name || uid.slice(uid.lastIndexOf('/') + 1)
  return (
    <li>
      <div class="why-level">
        <Icon name={isResource && !group?.name ? 'repo' : 'tree'} />
        {group?.name ? <Link to={paths.access(uid)}>{name}</Link> : <code>{name}</code>}
      </div>
      {sources.length === 0 && !hidden && <p class="quiet small">no role here</p>}
      {sources.map(({ roleBindingUid, role, capabilities = [], externalGroup, expireTime, suspended }) => (
        <p key={roleBindingUid} class="why-source">
          <Badge tone={capabilities.length > 0 && !suspended ? 'good' : 'neutral'}>{role?.name}</Badge>{' '}
          {suspended
            ? 'does not count: the identity provider has deactivated the person'
            : capabilities.length > 0
              ? 'gives it'
              : 'does not have it'}
          {externalGroup && `, through the external group ${externalGroup.externalGroupId}`}
          {expireTime && (
            <>
              , ends <Time at={expireTime} />
            </>
          )}
        </p>
      ))}
      {hidden && <p class="quiet small">role bindings that you may not see</p>}
    </li>
  )
}
