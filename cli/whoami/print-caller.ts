import type { JsonObject } from '@bufbuild/protobuf'
import { ageOf } from '../output/cells.ts'
import type { Format } from '../output/format.ts'
import type { Screen } from '../output/screen.ts'
import { toJson, toYaml } from '../output/serialize.ts'
import { pad, widthOf } from '../output/text-width.ts'
import { singleLine } from '../single-line.ts'
import type { Caller, HeldRole, Place } from './caller.ts'

export async function printCaller(caller: Caller, format: Format, screen: Screen): Promise<void> {
  if (format === 'json') return screen.write(`${toJson(caller as unknown as JsonObject)}\n`)
  if (format === 'yaml') return screen.write(await toYaml(caller))
  if (format === 'uid') return screen.write(`${singleLine(caller.identity.uid)}\n`)
  await screen.write(describe(caller, screen))
  if (caller.roles.length === 0) return screen.write('\nYou have no roles.\n')
  await screen.write(`\n${alignRows(roleRows(caller.roles, format === 'wide', screen), screen)}`)
}

/** The titles and one row for each role. Columns without a value are left out. */
function roleRows(roles: Caller['roles'], isWide: boolean, screen: Screen): string[][] {
  const columns: [title: string, text: (role: HeldRole) => string][] = [
    [
      roles[0]?.role === undefined ? 'CAPABILITIES' : 'ROLE',
      ({ role, capabilities = [] }) => role ?? capabilities.join(', '),
    ],
    ['GROUP', ({ group }) => group.path ?? group.uid],
    ['EXPIRES', ({ expireTime }) => (expireTime === undefined ? '' : timeText(expireTime, screen))],
    ['EXTERNAL GROUP', ({ externalGroup = '' }) => externalGroup],
    ['GROUP UID', ({ group }) => (isWide ? group.uid : '')],
  ]
  const shown = columns.filter(([, text]) => roles.some((role) => text(role) !== ''))
  return [shown.map(([title]) => title), ...roles.map((role) => shown.map(([, text]) => text(role) || '-'))]
}

function describe({ server, identity, organizations, signIn, token }: Caller, screen: Screen): string {
  const lines: [string, string][] = [
    ['server', server],
    [identity.type, [identity.name, identity.email].filter(Boolean).join(', ') || identity.uid],
    ['uid', identity.uid],
    ['organizations', organizations.map(placeText).join(', ') || 'none'],
    ['signed in', signInText(signIn, screen)],
    ['token expires', timeText(token.expireTime, screen)],
  ]
  if (token.groups) lines.push(['token limited to groups', token.groups.map(placeText).join(', ') || 'none'])
  if (token.capabilities)
    lines.push(['token limited to capabilities', token.capabilities.join(', ') || 'none'])
  const width = Math.max(...lines.map(([name]) => widthOf(name)))
  return lines.map(([name, text]) => `${screen.dim(pad(name, width))}  ${singleLine(text)}\n`).join('')
}

const placeText = ({ uid, path }: Place) => (path === undefined ? uid : `${path} (${uid})`)

function signInText({ method, identityProvider, issuer, subject, time }: Caller['signIn'], screen: Screen) {
  const when = time === undefined ? '' : `, ${timeText(time, screen)}`
  if (method === 'identity-provider') return `through the identity provider ${identityProvider}${when}`
  if (method === 'exchange') return `with a token of ${issuer} for ${subject}${when}`
  if (method === 'operator') return 'not at all: the operator of the server made this token'
  return `on this server${when}`
}

/** A terminal shows ages; a file or pipe gets the exact time. */
function timeText(time: string, { isTerminal, now }: Screen): string {
  if (!isTerminal) return time
  const age = ageOf(time, now)
  return age.startsWith('in ') ? age : `${age} ago`
}

function alignRows(rows: string[][], screen: Screen): string {
  const lines = rows.map((cells) => cells.map(singleLine))
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((cells) => widthOf(cells[column] ?? ''))),
  )
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => pad(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line, index) => `${index === 0 ? screen.dim(line) : line}\n`)
    .join('')
}
