// The first steps in an organization. Each gets a check mark when it is done, and the list disappears with the last one.
import type { KindUsageJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { api } from '../../api/api.ts'
import type { Capability } from '../../api/permissions.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useRead } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { Icon } from '../../ui/icon.tsx'

type Step = { title: string; text: string; to: string; isDone: boolean; needs: readonly Capability[] }

type NextStepsProps = PageProps & { name: string; kinds: readonly KindUsageJson[] }

export function NextSteps({ place: { group }, name, kinds }: NextStepsProps) {
  const denial = useDenial(group)
  const { data: account } = useRead(read(api.account.getAccount, {}))
  if (!account) return null
  const used = (kind: string) => Number(kinds.find((entry) => entry.kind === kind)?.used ?? 0)
  const all: Step[] = [
    {
      title: 'Divide it into groups',
      text: 'For teams, environments or products. A role in a group applies to everything below it.',
      to: `${paths.groups(group)}?dialog=create`,
      isDone: used('groups') > 0,
      needs: ['groups.create'],
    },
    {
      title: 'Invite a colleague',
      text: 'Send a link that gives a person a role. A second owner can help when you are away.',
      to: `${paths.access(group)}?dialog=add&who=invite`,
      isDone: used('role_bindings') > 1 || used('group_invites') > 0,
      needs: ['group_invites.create', 'role_bindings.create'],
    },
    {
      title: 'Let a program in',
      text: 'CI jobs and servers get access with the tokens that they have already, without a password.',
      to: paths.newIdentity(group),
      isDone: used('identities') > 0,
      needs: ['identity.create'],
    },
    {
      title: 'Push an image',
      text: 'Create a repo, and push to it with Docker or another client.',
      to: `${paths.repos(group)}?dialog=create`,
      isDone: used('repos') > 0,
      needs: ['repo.create'],
    },
    {
      title: 'Protect your account',
      text: 'Add a passkey or an authenticator app, so that a stolen password is not enough.',
      to: paths.account(),
      isDone: !account.local || account.authenticatorApp === true || (account.passkeys ?? []).length > 0,
      needs: [],
    },
  ]
  const steps = all.filter(({ needs }) => denial(...needs) === undefined)
  // The step for the account needs no capability. If it is the only step, the person may change nothing here.
  if (steps.length === 1 || steps.every(({ isDone }) => isDone)) return null
  const left = steps.filter(({ isDone }) => !isDone).length
  return (
    <section class="panel">
      <div class="panel-header">
        <h2>
          Next steps in <span dir="auto">{name}</span>
        </h2>
        <span class="quiet small">{left} left</span>
      </div>
      <ol class="steps">
        {steps.map(({ title, text, to, isDone }) => (
          <li key={title} class={isDone ? 'done' : ''}>
            <Icon name={isDone ? 'check' : 'right'} />
            {isDone ? (
              <span>
                <s>{title}</s> <span class="visually-hidden">(done)</span>
              </span>
            ) : (
              <Link to={to}>
                <strong>{title}</strong>
                <span class="quiet">{text}</span>
              </Link>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}
