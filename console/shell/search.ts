// The search of the palette: groups and workloads by their uid or a part of their name, repos by
// their uid, and people by their uid or by the issuer and the subject of their tokens.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { isUid, parentOf } from '../api/uids.ts'
import { paths } from '../paths.ts'
import type { PaletteAction } from './palette-state.ts'

const minLength = 2
const pageSize = 6
const pauseMs = 150

/** Undefined while the search runs. */
export function useFound(text: string): readonly PaletteAction[] | undefined {
  const found = useSignal<readonly PaletteAction[] | undefined>([])
  useEffect(() => {
    const words = text.trim()
    found.value = words.length < minLength ? [] : undefined
    if (words.length < minLength) return
    const canceller = new AbortController()
    const timer = setTimeout(
      () =>
        search(words, canceller.signal)
          .then((results) => {
            found.value = results
          })
          // If the search fails, the palette still offers its pages and actions.
          .catch(() => {
            if (!canceller.signal.aborted) found.value = []
          }),
      pauseMs,
    )
    return () => {
      clearTimeout(timer)
      canceller.abort()
    }
  }, [text])
  return found.value
}

async function search(text: string, signal: AbortSignal): Promise<PaletteAction[]> {
  if (isUid(text)) return findUid(text, signal)
  const [, issuer, subject] = /^(https?:\S+)\s+(.+)$/.exec(text) ?? []
  if (issuer !== undefined && subject !== undefined) {
    const { uid = '' } = await api.identities.lookupIdentity({ issuer, subject }, { signal })
    return findPerson(uid, signal)
  }
  return findName(text, signal)
}

async function findName(nameContains: string, signal: AbortSignal): Promise<PaletteAction[]> {
  const request = { nameContains, pageSize, orderBy: 'name' }
  const [{ groups = [] }, { identities = [] }] = await Promise.all([
    api.groups.listGroups(request, { signal }),
    api.identities.listIdentities(request, { signal }),
  ])
  return [...groups.map(groupAction), ...identities.filter(isWorkload).map(identityAction)]
}

/** A uid does not tell the kind of its resource. */
async function findUid(uid: string, signal: AbortSignal): Promise<PaletteAction[]> {
  const request = { uidp: { ids: [uid] } }
  const [{ groups = [] }, { identities = [] }, { repos = [] }, person] = await Promise.all([
    api.groups.listGroups(request, { signal }),
    api.identities.listIdentities(request, { signal }),
    api.repos.listRepos(request, { signal }),
    uid.includes('/') ? [] : findPerson(uid, signal),
  ])
  return [
    ...groups.map(groupAction),
    ...identities.filter(isWorkload).map(identityAction),
    ...repos.map(({ name = '' }) => ({ label: name, section: 'Repos', to: paths.repo(parentOf(uid), uid) })),
    ...person,
  ]
}

/** The roles of a person, because a person belongs to no group and has no page. */
async function findPerson(identity: string, signal: AbortSignal): Promise<PaletteAction[]> {
  const { entries = [] } = await api.access.listReach({ identity, pageSize }, { signal })
  return entries.map(({ identity: person, role, group }) => ({
    label: person?.name || person?.email || identity,
    section: `${role?.name || 'A role'} in ${group?.name || 'a group'}`,
    to: `${paths.access(group?.uid ?? '')}?${new URLSearchParams({ identity })}`,
  }))
}

type Named = { uid?: string; name?: string }

const groupAction = ({ uid = '', name = '' }: Named) => ({
  ...{ label: name, section: 'Groups', to: paths.group(uid) },
})
const isWorkload = ({ uid = '' }: Named) => parentOf(uid) !== ''
const identityAction = ({ uid = '', name = '' }: Named) => ({
  ...{ label: name, section: 'Identities', to: paths.identity(parentOf(uid), uid) },
})
