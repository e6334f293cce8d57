// Reads security databases as Alpine and Wolfi publish them: for each package, the versions that fix vulnerabilities.
import { create } from '@bufbuild/protobuf'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import { isAlias } from './aliases.ts'
import type { EventType } from './events.ts'
import { approvedEvent } from './events.ts'
import type { ImportedAdvisory } from './imported-advisory.ts'
import type { Fields } from './json-fields.ts'
import { fieldsOf, labelFault, labelIn, listIn, textIn } from './json-fields.ts'
import { maxEvents, maxLength } from './limits.ts'
import { RecordError } from './record-error.ts'

/** Returns an advisory for each package and vulnerability, dated `time`, because these databases contain no times. */
export function readSecdb(value: unknown, file: string, time: number): ImportedAdvisory[] {
  const database = fieldsOf(value, 'the database')
  const repository = repositoryOf(database, file)
  const host = hostOf(database)
  const bySource = new Map<string, ImportedAdvisory>()
  listIn(database, 'packages', '').forEach((item, index) => {
    const path = `packages[${index}].pkg`
    const pkg = fieldsOf(fieldsOf(item, `packages[${index}]`).pkg, path)
    const name = labelIn(pkg, 'name', `${path}.`, maxLength.packageName)
    const secfixes = fieldsOf(pkg.secfixes ?? {}, `${path}.secfixes`)
    for (const [id, versions] of fixesOf(secfixes, `${path}.secfixes`)) {
      const advisory = advisoryOf({ repository, host, name, id, versions, time })
      bySource.set(advisory.source, advisory)
    }
  })
  return [...bySource.values()]
}

type Fix = {
  repository: string
  host: string
  name: string
  id: string
  versions: string[]
  time: number
}

function advisoryOf({ repository, host, name, id, versions, time }: Fix): ImportedAdvisory {
  const secfixes = Object.fromEntries(versions.map((version) => [version, [id]]))
  const author = host || 'secdb'
  return {
    source: `secdb:${repository}:${name}:${id}`,
    record: JSON.stringify({ author, reponame: repository, packages: [{ pkg: { name, secfixes } }] }),
    draft: create(AdvisorySchema, {
      ...{ author, artifactName: name, artifactType: typeOf(host) },
      ...(isAdvisoryId(id) ? { advisoryId: id } : { aliases: [id] }),
      events: versions.slice(-maxEvents).map((version) => approvedEvent(author, time, eventTypeOf(version))),
    }),
    origin: '',
    ...{ createTime: time, updateTime: time, withdrawTime: undefined },
  }
}

/** Includes the branch, because every branch of Alpine has a repository `main`. */
function repositoryOf(database: Fields, file: string): string {
  const names = [textIn(database, 'distroversion', ''), textIn(database, 'reponame', '')].filter(Boolean)
  const repository = names.join('/') || file
  const fault = labelFault(repository, maxLength.repository)
  if (fault) throw new RecordError(`distroversion and reponame, or else the file name, ${fault}`)
  return repository
}

/** The host that serves the packages; '' if the database does not name it. */
function hostOf(database: Fields): string {
  const prefix = textIn(database, 'urlprefix', '') ?? ''
  return URL.canParse(prefix) ? new URL(prefix).host.slice(0, maxLength.author) : ''
}

/** The distributions that publish security databases, by the domain of their packages. */
const typeByDomain = new Map([
  ['alpinelinux.org', 'alpine'],
  ['wolfi.dev', 'wolfi'],
])

/** The same types as in OSV records of these distributions. `apk` if the distribution is unknown. */
function typeOf(host: string): string {
  const domain = host.split('.').slice(-2).join('.')
  return typeByDomain.get(domain) ?? 'apk'
}

/** The fixed versions of each vulnerability. */
function fixesOf(secfixes: Fields, path: string): Map<string, string[]> {
  const fixes = new Map<string, string[]>()
  for (const version of Object.keys(secfixes)) {
    const fault = labelFault(version, maxLength.version)
    if (fault) throw new RecordError(`${path}: a version ${fault}`)
    listIn(secfixes, version, `${path}.`).forEach((entry, index) => {
      if (typeof entry !== 'string') throw new RecordError(`${path}.${version}[${index}] must be a string`)
      for (const id of entry.split(' ')) {
        const versions = fixes.get(id)
        if (versions && versions.at(-1) !== version) versions.push(version)
        else if (!versions && isVulnerabilityId(id)) fixes.set(id, [version])
      }
    })
  }
  return fixes
}

const idPattern = /^[A-Z]+[-\d]/

/** Entries contain remarks besides ids, as in `CVE-2017-2616 (+ regression fix)`. */
const isVulnerabilityId = (text: string) => idPattern.test(text) && isAlias(text)

/** Version 0 means that no version of the package is affected. */
function eventTypeOf(version: string): EventType {
  if (version !== '0') return { case: 'fixed', value: { fixedVersion: version } }
  const type = FalsePositive.COMPONENT_VULNERABILITY_MISMATCH
  const note = 'The security database lists no version of the package as affected.'
  return { case: 'falsePositiveDetermination', value: { type, note } }
}
