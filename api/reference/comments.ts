// The comments of the protos, which are the text of the reference.
import type { DescEnum, DescField, DescMessage, DescMethod, DescOneof, DescService } from '@bufbuild/protobuf'
import { comments } from '../gen/comments.ts'

type Commented = DescEnum | DescField | DescMessage | DescMethod | DescOneof | DescService

/** The comment of a declaration; empty if it has none. */
export const commentOf = (desc: Commented): string => comments[fullName(desc)] ?? ''

export const enumValueComment = (desc: DescEnum, value: string): string =>
  comments[`${desc.typeName}.${value}`] ?? ''

function fullName(desc: Commented): string {
  return 'typeName' in desc ? desc.typeName : `${desc.parent?.typeName}.${desc.name}`
}

/**
 * Splits a text into its first sentence and the sentences and paragraphs that follow. A sentence
 * ends with a full stop that is followed by a capital letter or a backtick, so the stops in
 * `e.g. names` do not end one.
 */
export function splitSummary(text: string): { summary: string; details: string } {
  const [firstParagraph = '', ...otherParagraphs] = text.split('\n\n')
  const [, summary = firstParagraph, otherSentences = ''] =
    /^(.*?[^.]\.)\s+(?=[A-Z`])(.*)$/s.exec(firstParagraph) ?? []
  return { summary, details: [otherSentences, ...otherParagraphs].filter(Boolean).join('\n\n') }
}
