// Security databases as Alpine, Wolfi and others publish them: for each package, which version fixes what.
import { create } from '@bufbuild/protobuf'
import {
  AdvisorySchema,
  AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive,
} from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { isAdvisoryId } from '../advisory-id.ts'
import type { Happening, Imported } from './imported.ts'
import { approvedEvent, mostEvents, RecordError } from './imported.ts'
import { isAlias } from './names.ts'
import type { Fields } from './record-fields.ts'
import { faultOfLabel, fieldsOf, labelIn, listIn, textIn } from './record-fields.ts'

/** One for each package and vulnerability. Such databases have no times: `time` is when this one is as it is. */
export function readSecdb(value: unknown, file: string, time: number): Imported[] {
  const database = fieldsOf(value, 'the database')
  const repository = repositoryOf(database, file)
  const author = authorOf(database)
  const found = new Map<string, Imported>()
  listIn(database, 'packages', '').forEach((item, at) => {
    const path = `packages[${at}].pkg`
    const about = fieldsOf(fieldsOf(item, `packages[${at}]`).pkg, path)
    const name = labelIn(about, 'name', `${path}.`, 512)
    for (const [id, versions] of fixesOf(
      fieldsOf(about.secfixes ?? {}, `${path}.secfixes`),
      `${path}.secfixes`,
    )) {
      const source = `secdb:${repository}:${name}:${id}`
      const secfixes = Object.fromEntries(versions.map((version) => [version, [id]]))
      found.set(source, {
        source,
        record: JSON.stringify({ reponame: repository, packages: [{ pkg: { name, secfixes } }] }),
        draft: create(AdvisorySchema, {
          ...{ author, artifactName: name, artifactType: 'apk' },
          ...(isAdvisoryId(id) ? { advisoryId: id } : { aliases: [id] }),
          events: versions.slice(-mostEvents).map((version) => approvedEvent(author, time, saidBy(version))),
        }),
        origin: '',
        ...{ createTime: time, updateTime: time, withdrawTime: undefined },
      })
    }
  })
  return [...found.values()]
}

/** The branches of Alpine have repositories of the same names. */
function repositoryOf(database: Fields, file: string): string {
  const names = [textIn(database, 'distroversion', ''), textIn(database, 'reponame', '')].filter(Boolean)
  return names.join('/') || file
}

/** Whoever serves the packages. */
function authorOf(database: Fields): string {
  const prefix = textIn(database, 'urlprefix', '') ?? ''
  return (URL.canParse(prefix) && new URL(prefix).host.slice(0, 255)) || 'secdb'
}

/** The versions for each vulnerability. */
function fixesOf(secfixes: Fields, path: string): Map<string, string[]> {
  const fixes = new Map<string, string[]>()
  for (const version of Object.keys(secfixes)) {
    const fault = faultOfLabel(version, 255)
    if (fault) throw new RecordError(`${path}: a version ${fault}`)
    listIn(secfixes, version, `${path}.`).forEach((names, at) => {
      if (typeof names !== 'string') throw new RecordError(`${path}.${version}[${at}] must be a string`)
      for (const id of names.split(' ')) {
        const versions = fixes.get(id)
        if (versions && !versions.includes(version)) versions.push(version)
        else if (!versions && isName(id)) fixes.set(id, [version])
      }
    })
  }
  return fixes
}

const nameForm = /^[A-Z]+[-\d]/

/** There are remarks between the names, as in `CVE-2017-2616 (+ regression fix)`. */
const isName = (text: string) => nameForm.test(text) && isAlias(text)

function saidBy(version: string): Happening {
  if (version !== '0') return { case: 'fixed', value: { fixedVersion: version } }
  const type = FalsePositive.COMPONENT_VULNERABILITY_MISMATCH
  const note = 'The security database lists no version of the package as affected.'
  return { case: 'falsePositiveDetermination', value: { type, note } }
}
