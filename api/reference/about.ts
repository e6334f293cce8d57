// What the protos say in comments, for the reference.
import type { DescEnum, DescField, DescMessage, DescMethod, DescOneof, DescService } from '@bufbuild/protobuf'
import { comments } from '../gen/comments.ts'

type Described = DescEnum | DescField | DescMessage | DescMethod | DescOneof | DescService

/** What the protos say of something; `` where they say nothing. */
export const aboutOf = (desc: Described) => comments[nameOf(desc)] ?? ''

export const aboutValue = (desc: DescEnum, value: string) => comments[`${desc.typeName}.${value}`] ?? ''

function nameOf(desc: Described): string {
  return 'typeName' in desc ? desc.typeName : `${desc.parent?.typeName}.${desc.name}`
}

/** The first sentence, and what follows it. */
export function splitSummary(text: string): { summary: string; rest: string } {
  const [first = '', ...others] = text.split('\n\n')
  const [, summary = first, more = ''] = /^(.*?[^.]\.)\s+(?=[A-Z`])(.*)$/s.exec(first) ?? []
  return { summary, rest: [more, ...others].filter(Boolean).join('\n\n') }
}
