// CVSS vectors: the only type of severity that exists in advisories as well as in OSV records.
import type { Severity } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Severity_Type as Type } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'

export type Vector = { type: Type; score: string }

const types = new Map<string, Type>([
  ['CVSS_V2', Type.CVSS_V2],
  ['CVSS_V3', Type.CVSS_V3],
  ['CVSS_V4', Type.CVSS_V4],
])
const names = new Map([...types].map(([name, type]) => [type, name]))

/** The metrics of each CVSS version with their values, as patterns. */
const v2 = [
  ...['AV:[NAL]', 'AC:[LMH]', 'Au:[MSN]', '[CIA]:[NPC]', 'E:(?:U|POC|F|H|ND)', 'RL:(?:OF|TF|W|U|ND)'],
  ...['RC:(?:UC|UR|C|ND)', 'CDP:(?:N|L|LM|MH|H|ND)', 'TD:(?:N|L|M|H|ND)', '[CIA]R:(?:L|M|H|ND)'],
]
const v3 = [
  ...['AV:[NALP]', 'AC:[LH]', 'PR:[NLH]', 'UI:[NR]', 'S:[UC]', '[CIA]:[NLH]', 'E:[XUPFH]', 'RL:[XOTWU]'],
  ...['RC:[XURC]', '[CIA]R:[XLMH]', 'MAV:[XNALP]', 'MAC:[XLH]', 'MPR:[XNLH]', 'MUI:[XNR]', 'MS:[XUC]'],
  'M[CIA]:[XNLH]',
]
const v4 = [
  ...['AV:[NALP]', 'AC:[LH]', 'AT:[NP]', 'PR:[NLH]', 'UI:[NPA]', '[VS][CIA]:[NLH]', 'E:[XAPU]'],
  ...['[CIA]R:[XLMH]', 'MAV:[XNALP]', 'MAC:[XLH]', 'MAT:[XNP]', 'MPR:[XNLH]', 'MUI:[XNPA]', 'MV[CIA]:[XNLH]'],
  ...['MSC:[XNLH]', 'MS[IA]:[XNLHS]', 'S:[XNP]', 'AU:[XNY]', 'R:[XAUI]', 'V:[XDC]', 'RE:[XLMH]'],
  'U:(?:X|Clear|Green|Amber|Red)',
]

const vectorPattern = (start: string, metrics: readonly string[]) =>
  new RegExp(`^${start}(?:${metrics.join('|')})(?:/(?:${metrics.join('|')}))*$`)

const patterns = new Map<Type, RegExp>([
  [Type.CVSS_V2, vectorPattern('', v2)],
  [Type.CVSS_V3, vectorPattern('CVSS:3\\.[01]/', v3)],
  [Type.CVSS_V4, vectorPattern('CVSS:4\\.0/', v4)],
])

/** In characters. A vector with every metric is shorter. */
const maxLength = 500

/** Undefined for other types, such as Ubuntu's priorities, and for scores that are not vectors. */
export function parseSeverity(name: string, score: string): Vector | undefined {
  const type = types.get(name)
  return type !== undefined && isVector(type, score) ? { type, score } : undefined
}

const isVector = (type: Type, score: string) =>
  score.length <= maxLength && patterns.get(type)?.test(score) === true

export const osvSeverities = (severities: readonly Severity[]) =>
  severities
    .filter(({ type, score }) => isVector(type, score))
    .map(({ type, score }) => ({ type: names.get(type), score }))
